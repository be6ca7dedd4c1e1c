// LangGraph: prebuilt agents, the workers as tools of the manager.
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
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
  const llm = new ChatOpenAI({
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
  const worker = (name, role, tools) => {
    const agent = createReactAgent({ llm, tools, prompt: `You are the ${role}.` });
    return tool(
      async ({ task }) => {
        return lastOf(agent, task, stream);
      },
      { name, description: `Does the work of the ${role}.`, schema: z.object({ task: z.string() }) },
    );
  };
  const manager = createReactAgent({
    llm,
    tools: [worker("search_agent", "search", [webSearch]), worker("code_agent", "code", [runCode])],
    prompt: "You are the manager.",
  });
  return lastOf(manager, question, stream);
});
