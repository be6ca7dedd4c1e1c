/** The apps that the recorder is tried on, each as its author would write it, and what each is. */
export interface LiveApp {
  file: string;
  /** As the guide's table calls it. */
  name: string;
  /** The API that its model calls speak. */
  api: string;
  /** The package that must be installed for it. */
  needs: string;
  /** Set where the framework itself loses all but the last of several calls in one streamed reply. */
  oneCallAtATime?: boolean;
}

export const liveApps: readonly LiveApp[] = [
  { file: "ai-sdk-app.mjs", name: "AI SDK", api: "OpenAI chat", needs: "ai" },
  {
    file: "openai-agents-app.mjs",
    name: "OpenAI Agents",
    api: "OpenAI chat",
    needs: "@openai/agents",
  },
  {
    file: "anthropic-app.mjs",
    name: "Anthropic SDK",
    api: "Anthropic messages",
    needs: "@anthropic-ai/sdk",
  },
  { file: "genai-app.mjs", name: "Google genai SDK", api: "Gemini", needs: "@google/genai" },
  { file: "adk-app.mjs", name: "Google ADK", api: "Gemini", needs: "@google/adk" },
  { file: "ax-app.mjs", name: "Ax", api: "OpenAI chat", needs: "@ax-llm/ax" },
  { file: "genkit-app.mjs", name: "Genkit", api: "Gemini", needs: "genkit" },
  { file: "ollama-app.mjs", name: "Ollama client", api: "Ollama chat", needs: "ollama" },
  { file: "openai4-app.mjs", name: "openai 4 (node-fetch)", api: "OpenAI chat", needs: "openai4" },
  { file: "axios-app.mjs", name: "axios", api: "OpenAI chat", needs: "axios" },
  {
    file: "langgraph-app.mjs",
    name: "LangGraph",
    api: "OpenAI chat",
    needs: "@langchain/langgraph",
  },
  { file: "deepagents-app.mjs", name: "deepagents", api: "OpenAI chat", needs: "deepagents" },
  { file: "mastra-app.mjs", name: "Mastra", api: "OpenAI chat", needs: "@mastra/core" },
  { file: "strands-app.mjs", name: "Strands", api: "OpenAI chat", needs: "@strands-agents/sdk", oneCallAtATime: true },
];
