// Google's genai SDK.
import { GoogleGenAI } from "@google/genai";
import { main, runTeam, schemaOf } from "./sdk-team.mjs";

const ai = new GoogleGenAI({ apiKey: process.env.OPENAI_API_KEY, httpOptions: { baseUrl: process.env.BASE_ORIGIN } });

await main((stream) =>
  runTeam({
    start: (role, task) => ({ role, contents: [{ role: "user", parts: [{ text: task }] }] }),
    async ask(role, { contents }, tools) {
      const functionDeclarations = tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        parametersJsonSchema: schemaOf(tool),
      }));
      const request = {
        model: "gemini-m",
        contents,
        config: { systemInstruction: `You are the ${role}.`, tools: [{ functionDeclarations }] },
      };
      const parts = [];
      if (stream) {
        for await (const chunk of await ai.models.generateContentStream(request)) {
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
        }
      } else parts.push(...((await ai.models.generateContent(request)).candidates?.[0]?.content?.parts ?? []));
      contents.push({ role: "model", parts });
      const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
      return {
        text: parts.map(({ text }) => text ?? "").join(""),
        calls: calls.map(({ name, args }) => ({ name, input: args })),
      };
    },
    answer({ contents }, calls, results) {
      const parts = calls.map(({ name }, index) => ({
        functionResponse: { name, response: { output: results[index] } },
      }));
      contents.push({ role: "user", parts });
    },
  }),
);
