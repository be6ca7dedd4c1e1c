/** The apps that the recorder is tried on, each as its author would write it, and what each is. */
export interface LiveApp {
  file: string;
  /** As the guide's table calls it. */
  name: string;
  /** The API that its model calls speak. */
  api: string;
  /** The package that must be installed for it. */
  needs: string;
  /** Whether the preload knows which agent of which run makes a call, or puts that together from what was said. */
  preload: "known" | "inferred";
}

export const liveApps: readonly LiveApp[] = [
  { file: "ai-sdk-app.mjs", name: "AI SDK", api: "OpenAI chat", needs: "ai", preload: "known" },
  {
    file: "openai-agents-app.mjs",
    name: "OpenAI Agents",
    api: "OpenAI chat",
    needs: "@openai/agents",
    preload: "known",
  },
  {
    file: "anthropic-app.mjs",
    name: "Anthropic SDK",
    api: "Anthropic messages",
    needs: "@anthropic-ai/sdk",
    preload: "inferred",
  },
  { file: "genai-app.mjs", name: "Google genai SDK", api: "Gemini", needs: "@google/genai", preload: "inferred" },
  { file: "genkit-app.mjs", name: "Genkit", api: "Gemini", needs: "genkit", preload: "inferred" },
  { file: "ollama-app.mjs", name: "Ollama client", api: "Ollama chat", needs: "ollama", preload: "inferred" },
  { file: "openai4-app.mjs", name: "openai 4 (node-fetch)", api: "OpenAI chat", needs: "openai4", preload: "inferred" },
  { file: "axios-app.mjs", name: "axios", api: "OpenAI chat", needs: "axios", preload: "inferred" },
  {
    file: "langgraph-app.mjs",
    name: "LangGraph",
    api: "OpenAI chat",
    needs: "@langchain/langgraph",
    preload: "inferred",
  },
  { file: "deepagents-app.mjs", name: "deepagents", api: "OpenAI chat", needs: "deepagents", preload: "inferred" },
  { file: "mastra-app.mjs", name: "Mastra", api: "OpenAI chat", needs: "@mastra/core", preload: "inferred" },
  { file: "strands-app.mjs", name: "Strands", api: "OpenAI chat", needs: "@strands-agents/sdk", preload: "inferred" },
];
