// Anthropic's SDK.
import Anthropic from "@anthropic-ai/sdk";
import { main, runTeam, schemaOf } from "./sdk-team.mjs";

const client = new Anthropic({ apiKey: process.env.OPENAI_API_KEY, baseURL: process.env.BASE_ORIGIN });

await main((stream) =>
  runTeam({
    start: (role, task) => ({ system: `You are the ${role}.`, messages: [{ role: "user", content: task }] }),
    async ask(_role, history, tools) {
      const body = {
        model: "m",
        max_tokens: 500,
        ...history,
        tools: tools.map((tool) => ({ name: tool.name, description: tool.description, input_schema: schemaOf(tool) })),
      };
      const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
      history.messages.push({ role: "assistant", content: message.content });
      const calls = message.content.filter(({ type }) => type === "tool_use");
      return { text: message.content.find(({ type }) => type === "text")?.text ?? "", calls };
    },
    answer(history, calls, results) {
      const content = calls.map(({ id }, index) => ({ type: "tool_result", tool_use_id: id, content: results[index] }));
      history.messages.push({ role: "user", content });
    },
  }),
);
