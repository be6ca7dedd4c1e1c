// Ollama's client.
import { Ollama } from "ollama";
import { main, runTeam, schemaOf } from "./sdk-team.mjs";

const ollama = new Ollama({ host: process.env.BASE_ORIGIN });

await main((stream) =>
  runTeam({
    start: (role, task) => [
      { role: "system", content: `You are the ${role}.` },
      { role: "user", content: task },
    ],
    async ask(_role, messages, tools) {
      const offered = tools.map((tool) => ({
        type: "function",
        function: { name: tool.name, description: tool.description, parameters: schemaOf(tool) },
      }));
      const said = { role: "assistant", content: "", tool_calls: [] };
      const take = ({ message }) => {
        said.content += message.content;
        said.tool_calls.push(...(message.tool_calls ?? []));
      };
      if (stream)
        for await (const part of await ollama.chat({ model: "m", messages, tools: offered, stream: true })) take(part);
      else take(await ollama.chat({ model: "m", messages, tools: offered }));
      messages.push(said);
      return {
        text: said.content,
        calls: said.tool_calls.map(({ function: call }) => ({ name: call.name, input: call.arguments })),
      };
    },
    answer(messages, calls, results) {
      for (const [index, { name }] of calls.entries()) {
        messages.push({ role: "tool", content: results[index], tool_name: name });
      }
    },
  }),
);
