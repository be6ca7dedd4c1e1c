/** A small app as its author would write it: a manager with two sub-agents as tools. It knows nothing of recording. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, ToolLoopAgent, tool } from "ai";
import { z } from "zod";

const provider = createOpenAICompatible({
  name: "scripted",
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
  includeUsage: true,
});
const model = provider("scripted");
const streaming = process.argv.includes("--stream");
const tasks = Number(process.argv.find((argument) => /^\d+$/.test(argument)) ?? 1);

const searchAgent = new ToolLoopAgent({
  model,
  instructions: "You are the search agent.",
  stopWhen: isStepCount(8),
  tools: {
    web_search: tool({
      description: "Search the web.",
      inputSchema: z.object({ query: z.string() }),
      execute: async ({ query }) => `Result for ${query}: launched in 1990. example.org`,
    }),
  },
});
const codeAgent = new ToolLoopAgent({
  model,
  instructions: "You are the code agent.",
  stopWhen: isStepCount(8),
  tools: {
    run_code: tool({
      description: "Run code.",
      inputSchema: z.object({ code: z.string() }),
      execute: async ({ code }) => String(code === "1990*3-17" ? 5953 : Number.NaN),
    }),
  },
});

async function answer(agent, prompt) {
  if (!streaming) return (await agent.generate({ prompt })).text;
  const result = await agent.stream({ prompt });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  return result.text ?? text;
}

const delegate = (agent, description) =>
  tool({
    description,
    inputSchema: z.object({ task: z.string() }),
    execute: async ({ task }) => answer(agent, task),
  });
const manager = new ToolLoopAgent({
  model,
  instructions: "You are the manager.",
  stopWhen: isStepCount(12),
  tools: {
    search_agent: delegate(searchAgent, "Delegate research."),
    code_agent: delegate(codeAgent, "Delegate computing."),
  },
});

const question = "When was the telescope launched, and what is that year times 3 minus 17?";
const answers = await Promise.all(Array.from({ length: tasks }, () => answer(manager, question)));
console.log(JSON.stringify(answers));
