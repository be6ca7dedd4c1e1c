// Google's Agent Development Kit: the workers as agent tools of the manager.
import { AgentTool, FunctionTool, Gemini, InMemoryRunner, LlmAgent, StreamingMode } from "@google/adk";
import { z } from "zod";
import { main, question } from "./sdk-team.mjs";

process.env.GOOGLE_GEMINI_BASE_URL = process.env.BASE_ORIGIN;

await main(async (stream) => {
  const model = new Gemini({ model: "gemini-2.5-flash", apiKey: process.env.OPENAI_API_KEY });
  const simple = (name, key, run) =>
    new FunctionTool({
      name,
      description: name,
      parameters: z.object({ [key]: z.string() }),
      execute: (input) => run(input[key]),
    });
  const agent = (name, role, tools) =>
    new LlmAgent({
      name,
      model,
      description: `Does the work of the ${role}.`,
      instruction: `You are the ${role}.`,
      tools,
    });
  const search = agent("search_agent", "search", [
    simple("web_search", "query", (query) => `Result for ${query}: launched in 1990. example.org`),
  ]);
  const code = agent("code_agent", "code", [simple("run_code", "code", () => "5953")]);
  const manager = agent("manager", "manager", [new AgentTool({ agent: search }), new AgentTool({ agent: code })]);
  const runner = new InMemoryRunner({ agent: manager, appName: "team" });
  const session = await runner.sessionService.createSession({ appName: "team", userId: "user" });
  let last = "";
  for await (const event of runner.runAsync({
    userId: "user",
    sessionId: session.id,
    newMessage: { role: "user", parts: [{ text: question }] },
    runConfig: { streamingMode: stream ? StreamingMode.SSE : StreamingMode.NONE },
  })) {
    const text = event.content?.parts?.map((part) => part.text ?? "").join("");
    if (text && !event.partial) last = text;
  }
  return last;
});
