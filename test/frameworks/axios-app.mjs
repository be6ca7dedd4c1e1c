// No SDK at all: axios on the chat API.
import axios from "axios";
import { main, runTeam, schemaOf } from "./sdk-team.mjs";

await main(() =>
  runTeam({
    start: (role, task) => [
      { role: "system", content: `You are the ${role}.` },
      { role: "user", content: task },
    ],
    async ask(_role, messages, tools) {
      const { data } = await axios.post(
        `${process.env.OPENAI_BASE_URL}/chat/completions`,
        {
          model: "m",
          messages,
          tools: tools.map((tool) => ({
            type: "function",
            function: { name: tool.name, description: tool.description, parameters: schemaOf(tool) },
          })),
        },
        { headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}` } },
      );
      const { message } = data.choices[0];
      messages.push(message);
      return {
        text: message.content ?? "",
        calls: (message.tool_calls ?? []).map(({ id, function: call }) => ({
          id,
          name: call.name,
          input: JSON.parse(call.arguments),
        })),
      };
    },
    answer(messages, calls, results) {
      for (const [index, { id }] of calls.entries()) {
        messages.push({ role: "tool", tool_call_id: id, content: results[index] });
      }
    },
  }),
);
