// The openai SDK of the fourth edition, which brings its own HTTP (node-fetch).
import OpenAI from "openai4";
import { main, runTeam, schemaOf } from "./sdk-team.mjs";

const client = new OpenAI({ apiKey: process.env.OPENAI_API_KEY, baseURL: process.env.OPENAI_BASE_URL });

await main((stream) =>
  runTeam({
    start: (role, task) => [
      { role: "system", content: `You are the ${role}.` },
      { role: "user", content: task },
    ],
    async ask(_role, messages, tools) {
      const body = {
        model: "m",
        messages,
        tools: tools.map((tool) => ({
          type: "function",
          function: { name: tool.name, description: tool.description, parameters: schemaOf(tool) },
        })),
      };
      const reply = stream
        ? await client.beta.chat.completions
            .stream({ ...body, stream_options: { include_usage: true } })
            .finalChatCompletion()
        : await client.chat.completions.create(body);
      const { message } = reply.choices[0];
      const { role, content, tool_calls } = message;
      messages.push({ role, content, ...(tool_calls?.length && { tool_calls }) });
      return {
        text: content ?? "",
        calls: (tool_calls ?? []).map(({ id, function: call }) => ({
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
