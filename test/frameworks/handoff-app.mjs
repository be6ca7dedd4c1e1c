/** A small app with hand-offs: a manager hands over to specialists and they hand back, one history for all. */
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

setOpenAIAPI("chat_completions");
setTraceProcessors([new BatchTraceProcessor(new OpenAITracingExporter({ endpoint: process.env.TRACES_URL }))]);

const lookUp = tool({
  name: "web_search",
  description: "Search the web.",
  parameters: z.object({ query: z.string() }),
  execute: async ({ query }) => `Result for ${query}: launched in 1990. example.org`,
});
const compute = tool({
  name: "run_code",
  description: "Run code.",
  parameters: z.object({ code: z.string() }),
  execute: async ({ code }) => String(code === "1990*3-17" ? 5953 : Number.NaN),
});
const model = "scripted";
const search = new Agent({ name: "search", model, instructions: "You are the hsearch agent.", tools: [lookUp] });
const code = new Agent({ name: "code", model, instructions: "You are the hcode agent.", tools: [compute] });
const manager = new Agent({ name: "manager", model, instructions: "You are the hmanager.", handoffs: [search, code] });
search.handoffs = [manager];
code.handoffs = [manager];

const runner = new Runner({ modelProvider: new OpenAIProvider({ useResponses: false }) });
const tasks = Number(process.argv.find((argument) => /^\d+$/.test(argument)) ?? 1);
const question = "When was the telescope launched, and what is that year times 3 minus 17?";
const answers = await Promise.all(
  Array.from({ length: tasks }, async () => (await runner.run(manager, question)).finalOutput),
);
console.log(JSON.stringify(answers));
await getGlobalTraceProvider().forceFlush();
