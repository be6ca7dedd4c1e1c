/** A small app as its author would write it: a manager with two sub-agents as tools. It knows nothing of recording. */
import {
  Agent,
  BatchTraceProcessor,
  getGlobalTraceProvider,
  OpenAIProvider,
  OpenAITracingExporter,
  Runner,
  setOpenAIAPI,
  setTraceProcessors,
  tool,
} from "@openai/agents";
import { z } from "zod";

const useResponses = process.argv.includes("--responses");
if (!useResponses) setOpenAIAPI("chat_completions");
setTraceProcessors([new BatchTraceProcessor(new OpenAITracingExporter({ endpoint: process.env.TRACES_URL }))]);
const streaming = process.argv.includes("--stream");
const tasks = Number(process.argv.find((argument) => /^\d+$/.test(argument)) ?? 1);

const searchAgent = new Agent({
  name: "search_agent",
  model: "scripted",
  instructions: "You are the search agent.",
  tools: [
    tool({
      name: "web_search",
      description: "Search the web.",
      parameters: z.object({ query: z.string() }),
      execute: async ({ query }) => `Result for ${query}: launched in 1990. example.org`,
    }),
  ],
});
const codeAgent = new Agent({
  name: "code_agent",
  model: "scripted",
  instructions: "You are the code agent.",
  tools: [
    tool({
      name: "run_code",
      description: "Run code.",
      parameters: z.object({ code: z.string() }),
      execute: async ({ code }) => String(code === "1990*3-17" ? 5953 : Number.NaN),
    }),
  ],
});
const manager = new Agent({
  name: "manager",
  model: "scripted",
  instructions: "You are the manager.",
  tools: [
    searchAgent.asTool({ toolName: "search_agent", toolDescription: "Delegate research." }),
    codeAgent.asTool({ toolName: "code_agent", toolDescription: "Delegate computing." }),
  ],
});

const runner = new Runner({ modelProvider: new OpenAIProvider({ useResponses }) });
const question = "When was the telescope launched, and what is that year times 3 minus 17?";
async function answer() {
  if (!streaming) return (await runner.run(manager, question)).finalOutput;
  const result = await runner.run(manager, question, { stream: true });
  for await (const _event of result);
  return result.finalOutput;
}
console.log(JSON.stringify(await Promise.all(Array.from({ length: tasks }, answer))));
await getGlobalTraceProvider().forceFlush();
