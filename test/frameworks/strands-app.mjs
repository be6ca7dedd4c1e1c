// Strands: an agent whose tools call other agents, on the OpenAI protocol.
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";
import { main, question } from "./sdk-team.mjs";

await main(async () => {
  const model = new OpenAIModel({
    api: "chat",
    modelId: "m",
    apiKey: process.env.OPENAI_API_KEY,
    clientConfig: { baseURL: process.env.OPENAI_BASE_URL },
  });
  const simple = (name, key, run) =>
    tool({
      name,
      description: name,
      inputSchema: z.object({ [key]: z.string() }),
      callback: async (input) => run(input[key]),
    });
  const agent = (role, tools) => new Agent({ model, systemPrompt: `You are the ${role}.`, tools, printer: false });
  const say = async (one, text) => String(await one.invoke(text)).trim();
  const search = agent("search", [
    simple("web_search", "query", (query) => `Result for ${query}: launched in 1990. example.org`),
  ]);
  const code = agent("code", [simple("run_code", "code", () => "5953")]);
  const manager = agent("manager", [
    simple("search_agent", "task", (task) => say(agent("search", search.tools), task)),
    simple("code_agent", "task", (task) => say(agent("code", code.tools), task)),
  ]);
  return say(manager, question);
});
