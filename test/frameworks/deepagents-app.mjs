// deepagents: a manager that starts named sub-agents by its built-in `task` tool.
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createDeepAgent } from "deepagents";
import { z } from "zod";
import { main, question } from "./sdk-team.mjs";

/** The last message of an agent's work, with its model streaming or not. */
async function lastOf(agent, text, stream) {
  const input = { messages: [{ role: "user", content: text }] };
  if (!stream) return (await agent.invoke(input)).messages.at(-1).content;
  let last;
  for await (const [mode, value] of await agent.stream(input, { streamMode: ["messages", "values"] })) {
    if (mode === "values") last = value.messages.at(-1).content;
  }
  return last;
}

await main(async (stream) => {
  const model = new ChatOpenAI({
    model: "m",
    apiKey: process.env.OPENAI_API_KEY,
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  });
  const webSearch = tool(({ query }) => `Result for ${query}: launched in 1990. example.org`, {
    name: "web_search",
    description: "Search the web.",
    schema: z.object({ query: z.string() }),
  });
  const runCode = tool(() => "5953", {
    name: "run_code",
    description: "Run code.",
    schema: z.object({ code: z.string() }),
  });
  const agent = createDeepAgent({
    model,
    systemPrompt: "You are the dmanager.",
    subagents: [
      { name: "search_agent", description: "Searches.", systemPrompt: "You are the search.", tools: [webSearch] },
      { name: "code_agent", description: "Computes.", systemPrompt: "You are the code.", tools: [runCode] },
    ],
  });
  return lastOf(agent, question, stream);
});
