// Genkit with Google's models.
import { googleAI } from "@genkit-ai/google-genai";
import { genkit, z } from "genkit";
import { main, question } from "./sdk-team.mjs";

const ai = genkit({ plugins: [googleAI({ apiKey: process.env.OPENAI_API_KEY, baseUrl: process.env.BASE_ORIGIN })] });
const model = googleAI.model("gemini-2.5-flash");

await main(async (stream) => {
  const say = async (role, prompt, tools) => {
    const request = { model, system: `You are the ${role}.`, prompt, tools, maxTurns: 12 };
    if (!stream) return (await ai.generate(request)).text;
    return (await ai.generateStream(request).response).text;
  };
  const simple = (name, key, run) =>
    ai.dynamicTool({ name, description: name, inputSchema: z.object({ [key]: z.string() }) }, async (input) =>
      run(input[key]),
    );
  const search = [simple("web_search", "query", (query) => `Result for ${query}: launched in 1990. example.org`)];
  const code = [simple("run_code", "code", () => "5953")];
  return say("manager", question, [
    simple("search_agent", "task", (task) => say("search", task, search)),
    simple("code_agent", "task", (task) => say("code", task, code)),
  ]);
});
