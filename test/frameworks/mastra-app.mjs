// Mastra: an agent whose tools call other agents.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { main, question } from "./sdk-team.mjs";

const provider = createOpenAICompatible({
  name: "scripted",
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
  includeUsage: true,
});
const model = provider.chatModel("m");

await main(async (stream) => {
  const say = async (agent, text) =>
    stream ? await (await agent.stream(text)).text : (await agent.generate(text)).steps.at(-1).text;
  const simple = (id, key, run) =>
    createTool({
      id,
      description: id,
      inputSchema: z.object({ [key]: z.string() }),
      execute: async (input) => run((input.context ?? input)[key]),
    });
  const agent = (role, tools) =>
    new Agent({ id: role, name: role, instructions: `You are the ${role}.`, model, tools });
  const search = agent("search", {
    web_search: simple("web_search", "query", (query) => `Result for ${query}: launched in 1990. example.org`),
  });
  const code = agent("code", { run_code: simple("run_code", "code", () => "5953") });
  const manager = agent("manager", {
    search_agent: simple("search_agent", "task", (task) => say(search, task)),
    code_agent: simple("code_agent", "task", (task) => say(code, task)),
  });
  return say(manager, question);
});
