/** The Python programs of `apps/`, what each needs, and the cells in which they are recorded. */
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface PythonFramework {
  /** The file in `apps/`, and the folder of its virtual environment. */
  app: string;
  name: string;
  /** What its environment is made with, and whose version is printed: the first. */
  pip: readonly string[];
  /** Agents by tool calls or hand-overs. */
  tools: readonly string[];
  /** Agents that the program's own code wires together. */
  code: readonly string[];
  /** Packages that send spans, where there are any. */
  otlp?: readonly string[];
}

const openinference = (name: string) => [
  `openinference-instrumentation-${name}`,
  "opentelemetry-sdk",
  "opentelemetry-exporter-otlp-proto-http",
];
const sdk = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"];

export const pythonFrameworks: readonly PythonFramework[] = [
  {
    app: "plain",
    name: "openai",
    pip: ["openai"],
    tools: ["tools"],
    code: ["chain", "route", "parallel", "orchestrator", "evaluator"],
    otlp: openinference("openai"),
  },
  { app: "anthropic_sdk", name: "anthropic", pip: ["anthropic"], tools: ["tools"], code: ["chain"] },
  {
    app: "langgraph_app",
    name: "LangGraph",
    pip: ["langgraph", "langchain", "langchain-openai"],
    tools: ["tools"],
    code: ["code", "send"],
    otlp: openinference("langchain"),
  },
  {
    app: "langchain_app",
    name: "LangChain",
    pip: ["langchain", "langchain-openai"],
    tools: ["tools"],
    code: ["code"],
    otlp: openinference("langchain"),
  },
  { app: "deepagents_app", name: "deepagents", pip: ["deepagents", "langchain-openai"], tools: ["tools"], code: [] },
  {
    app: "openai_agents",
    name: "OpenAI Agents",
    pip: ["openai-agents"],
    tools: ["tools", "handoff"],
    code: ["code"],
    otlp: openinference("openai-agents"),
  },
  {
    app: "pydantic_app",
    name: "Pydantic AI",
    pip: ["pydantic-ai-slim[openai]"],
    tools: ["tools"],
    code: ["code"],
    otlp: sdk,
  },
  {
    app: "crewai_app",
    name: "CrewAI",
    pip: ["crewai"],
    tools: ["tools"],
    code: ["code", "react"],
    otlp: openinference("crewai"),
  },
  {
    app: "autogen_app",
    name: "AutoGen",
    pip: ["autogen-agentchat", "autogen-ext[openai]"],
    tools: ["tools"],
    code: ["code", "selector"],
    otlp: openinference("autogen-agentchat"),
  },
  { app: "ag2_app", name: "AG2", pip: ["ag2[openai]"], tools: ["tools"], code: ["code"] },
  {
    app: "smolagents_app",
    name: "smolagents",
    pip: ["smolagents[openai]"],
    tools: ["tools"],
    code: ["code"],
    otlp: openinference("smolagents"),
  },
  {
    app: "llamaindex_app",
    name: "LlamaIndex",
    pip: ["llama-index-core", "llama-index-llms-openai-like"],
    tools: ["tools"],
    code: ["code"],
    otlp: openinference("llama-index"),
  },
  {
    app: "haystack_app",
    name: "Haystack",
    pip: ["haystack-ai"],
    tools: ["tools"],
    code: ["code"],
    otlp: openinference("haystack"),
  },
  {
    app: "agno_app",
    name: "Agno",
    pip: ["agno", "openai"],
    tools: ["tools"],
    code: ["code"],
    otlp: openinference("agno"),
  },
  { app: "strands_app", name: "Strands", pip: ["strands-agents[openai]"], tools: ["tools", "swarm"], code: ["code"] },
  {
    app: "adk_app",
    name: "Google ADK",
    pip: ["google-adk", "litellm", "mcp"],
    tools: ["tools", "transfer"],
    code: ["code"],
  },
  { app: "camel_app", name: "CAMEL", pip: ["camel-ai", "mcp==1.30.0", "litellm"], tools: ["tools"], code: ["code"] },
  { app: "dspy_app", name: "DSPy", pip: ["dspy"], tools: ["tools"], code: ["code"], otlp: openinference("dspy") },
  {
    app: "semantic_kernel_app",
    name: "Semantic Kernel",
    pip: ["semantic-kernel", "protobuf"],
    tools: ["tools"],
    code: ["code"],
  },
  {
    app: "agent_framework_app",
    name: "Agent Framework",
    pip: ["agent-framework-core", "agent-framework-openai", "agent-framework-orchestrations"],
    tools: ["tools"],
    code: ["code"],
  },
];

/** The HTTP clients that frameworks are built on. */
export const clients: PythonFramework = {
  app: "clients",
  name: "HTTP clients",
  pip: ["httpx", "httpx2", "requests", "urllib3", "aiohttp", "boto3"],
  tools: [],
  code: [],
};

/** One task, four identical ones at once, three after each other in one process. */
export const loads = { one: 1, four: 4, three: 3 } as const;
export const ways = ["record run", "proxy", "OTLP"] as const;

export interface Cell {
  framework: PythonFramework;
  mode: string;
  load: keyof typeof loads;
  way: (typeof ways)[number];
}

/** A cell by one name. */
export function cellName({ framework, mode, load, way }: Cell): string {
  return `${framework.app}/${mode}/${load}/${way}`;
}

/** All cells, those of one framework together. */
export function allCells(): Cell[] {
  return pythonFrameworks.flatMap((framework) =>
    [...framework.tools, ...framework.code].flatMap((mode) =>
      ways
        .filter((way) => way !== "OTLP" || framework.otlp)
        .flatMap((way) => (Object.keys(loads) as Cell["load"][]).map((load) => ({ framework, mode, load, way }))),
    ),
  );
}

/** The Python of a framework's virtual environment below `COA_PYTHON_VENVS`; undefined where there is none. */
export function pythonOf({ app }: PythonFramework): string | undefined {
  const folder = process.env["COA_PYTHON_VENVS"];
  const python = folder && join(folder, app, "bin/python");
  return python && existsSync(python) ? python : undefined;
}
