import { list, pairs, text, toggle, whole } from "../setting.ts";

/** The tools that chains and teams call. */
export const tools = {
  names: list("Which tools, comma-separated (default: all that can be set up)", { flag: "tools", valueName: "names" }),
  docs: text("Your own documents (a folder or a file) to search and read; indexed when they changed", { flag: "docs", valueName: "path", replaces: ["tools.index"] }),
  index: text("A local index (coa index build) for web_search, wiki_search and crawl_page", { flag: "index", valueName: "folder", replaces: ["tools.docs"] }),
  search: text("Search by serper, serpapi, brave, tavily, exa, searxng or index", { flag: "search", valueName: "name" }),
  modules: list("A module that exports your own tools: one, a list, or an object of AI SDK tools", { flag: "tool", valueName: "file" }),
  mcp: list("An MCP server: a command line or an address", { flag: "mcp", valueName: "server" }),
  recorded: text("Tools that answer from these recorded runs; calls that are not in them count as not recorded", { flag: "recorded", valueName: "runs.jsonl" }),
  faults: text("Let a share of the calls fail, to train or test for it: web_search:empty=0.4,timeout=0.1,seed=7", { flag: "tool-faults", valueName: "plan" }),
  block: list("Block a domain or URL, or every entry of a file; benchmarks for the built-in list"),
  allowHosts: list("Private hosts (host[:port]) that may be crawled"),
  results: whole("Results per web search", { default: 10, max: 100 }),
  passages: whole("Passages that POST /retrieve returns by default", { default: 3, max: 1_000 }),
  retrieval: text("A retrieval server (POST /retrieve) for wiki_search"),
  searchCache: text("File that keeps search answers (default: in the workspace)"),
  replaySearches: toggle("Answer searches from the cache alone"),
  robots: toggle("Respect robots.txt"),
  summarisePages: toggle("Let the model at OPENAI_BASE_URL summarise pages for the question"),
  visionModel: text("Vision model for visual_inspector, at OPENAI_BASE_URL (default: COA_VISION_MODEL)"),
  imageFolder: text("Folder that visual_inspector may read images from", { default: "." }),
  rename: pairs("Call a tool by another name, to see what a model makes of it: --set tools.rename.web_search=find"),
} as const; // biome-ignore format: one setting a line
