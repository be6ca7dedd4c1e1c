/**
 * Puts the tools together from flags and environment: which search service, which index, which sandbox, which MCP
 * servers. Commands that run chains share these settings. A tool that can't be set up is reported with what to do about it,
 * and only stops the command when it was asked for by name.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { loadModule } from "../base/files/load-module.ts";
import { type ToolSet, toolsByName } from "../chain/tool-set.ts";
import { UsageError } from "../core/errors.ts";
import type { Tool } from "../core/tool.ts";
import { openOnce, openSearchProvider } from "./open-search.ts";
import type { Section } from "./settings/index.ts";

type ToolSettings = Section<"tools">;

/** Whether a tool is ready, by what means, and what would make it so. */
export interface ToolState {
  name: string;
  ready: boolean;
  detail: string;
  remedy?: string;
}

export interface OpenTools {
  tools: Tool[];
  states: ToolState[];
  close(): Promise<void>;
}

interface OpenOptions {
  note: (text: string) => void;
  signal?: AbortSignal;
}

type Opened = { tool: Tool; detail: string; close?: () => Promise<unknown> } | { detail: string; remedy: string };

const makers: Record<string, (settings: ToolSettings) => Promise<Opened>> = {
  web_search: openWebSearch,
  crawl_page: openCrawlPage,
  wiki_search: openWikiSearch,
  code: openCode,
  visual_inspector: openVisualInspector,
};

/** Opens the wanted tools; close them when done. */
export async function openTools(given: ToolSettings, options: OpenOptions): Promise<OpenTools> {
  const settings = await withDocuments(given, options);
  const names = settings.names.flatMap((text) => text.split(",").map((name) => name.trim())).filter(Boolean);
  const named = names.length > 0 ? names : undefined;
  const result: OpenTools = { tools: [], states: [], close: async () => {} };
  const closers: (() => Promise<unknown>)[] = [];
  result.close = async () => {
    await Promise.allSettled(closers.map((close) => close()));
  };
  try {
    const own = await openOwnTools(settings.modules);
    for (const [name, open] of Object.entries(makers)) {
      // The user's own tool replaces ours of the same name.
      if (own.some(({ tool }) => tool.name === name)) continue;
      // Recorded runs bring their own tools; others are there when asked for.
      if (named ? !named.includes(name) : settings.recorded !== undefined) continue;
      const opened = await open(settings);
      if ("tool" in opened) {
        result.tools.push(opened.tool);
        if (opened.close) closers.push(opened.close);
      } else if (named) throw new UsageError(`${name}: ${opened.detail}; ${opened.remedy}`);
      const remedy = "remedy" in opened ? opened.remedy : undefined;
      result.states.push({ name, ready: "tool" in opened, detail: opened.detail, remedy });
    }
    for (const { tool, file } of own) {
      result.tools.push(tool);
      result.states.push({ name: tool.name, ready: true, detail: file });
    }
    await openMcpServers(settings, result, closers, options.signal);
    await openRecordedTools(settings.recorded, result);
    const known = new Set(result.states.map(({ name }) => name));
    const unknown = named?.find((name) => !known.has(name));
    if (unknown)
      throw new UsageError(
        `there is no tool "${unknown}". There are: ${[...Object.keys(makers), ...known].join(", ")}`,
      );
    if (named) result.tools = result.tools.filter((tool) => named.includes(tool.name));
    result.tools = (await disturbance(settings.faults))(result.tools);
    return result;
  } catch (error) {
    await result.close();
    throw error;
  }
}

/** What `--tool-faults` does to tools: the faults of its plan, or nothing. */
export async function disturbance(plan: string | undefined): Promise<(tools: Tool[]) => Tool[]> {
  if (!plan) return (tools) => tools;
  const { parseFaultPlan, withFaults } = await import("../tools/with-faults.ts");
  const faults = parseFaultPlan(plan);
  return (tools) => withFaults(tools, faults);
}

/** Tools of the user's own, from what modules export: a set or one tool by default, and tools under names. */
async function openOwnTools(files: readonly string[]): Promise<{ tool: Tool; file: string }[]> {
  const found: { tool: Tool; file: string }[] = [];
  for (const file of files) {
    if (!existsSync(file)) throw new UsageError(`--tool ${file}: there is no such file`);
    const { default: main, ...named } = await loadModule(file);
    // A tool alone without a name is called as its file is.
    const ofFile = basename(file)
      .replace(/\.\w+$/, "")
      .replace(/\W+/g, "_");
    const alone = isTool(main) ? { [main.name ?? ofFile]: main } : (main ?? {});
    const exported = Object.fromEntries(Object.entries(named).filter(([, value]) => isTool(value)));
    const tools = [alone, exported].flatMap((set) => [...toolsByName(set as ToolSet).values()]);
    if (tools.length === 0)
      throw new UsageError(`--tool ${file} exports no tool: use defineTool, or an AI SDK tool under its name`);
    found.push(...tools.map((tool) => ({ tool, file })));
  }
  return found;
}

function isTool(value: unknown): value is Partial<Tool> {
  return typeof (value as Partial<Tool> | null | undefined)?.execute === "function";
}

/** Tools of recorded runs; a tool that is here under the same name is used instead. */
async function openRecordedTools(file: string | undefined, result: OpenTools): Promise<void> {
  if (file === undefined) return;
  const [{ replayedTools }, { readAllJsonl }, { teamRunSchema }] = await Promise.all([
    import("../chain/replayed-tools.ts"),
    import("../base/files/read-jsonl.ts"),
    import("../core/team-run.ts"),
  ]);
  if (!existsSync(file)) throw new UsageError(`--recorded ${file}: there is no such file`);
  for (const tool of replayedTools(await readAllJsonl(file, teamRunSchema))) {
    if (result.tools.some(({ name }) => name === tool.name)) continue;
    result.tools.push(tool);
    result.states.push({ name: tool.name, ready: true, detail: `replayed from ${file}` });
  }
}

async function openMcpServers(
  settings: ToolSettings,
  result: OpenTools,
  closers: (() => Promise<unknown>)[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const text of settings.mcp) {
    const { connectMcp } = await import("../tools/mcp/connect-mcp.ts");
    const [command = "", ...args] = text.split(/\s+/).filter(Boolean);
    const server = /^https?:\/\//.test(text) ? { url: text } : { command, args };
    const connection = await connectMcp(server, { signal });
    closers.push(() => connection.close());
    result.tools.push(...connection.tools);
    for (const { name } of connection.tools)
      result.states.push({ name, ready: true, detail: `MCP server ${connection.serverName}` });
  }
}

/** The user's documents become an index in the workspace, made again when a file changed. */
export async function withDocuments(settings: ToolSettings, { note, signal }: OpenOptions): Promise<ToolSettings> {
  if (settings.docs === undefined) return settings;
  if (settings.index !== undefined) throw new UsageError("give --docs or --index, not both");
  const [{ indexCorpus, isIndexOf }, { documentIndexFolder }] = await Promise.all([
    import("../tools/local-index/index-corpus.ts"),
    import("./document-index.ts"),
  ]);
  const folder = await documentIndexFolder(settings.docs);
  if (!(await isIndexOf(folder, settings.docs))) {
    const report = await indexCorpus(settings.docs, folder, {
      onProblem: (problem) => note(`skipped: ${problem}`),
      signal,
    });
    note(`indexed ${settings.docs}: ${report.documentCount} passages, ${report.skipped.length} skipped`);
  }
  return { ...settings, index: folder, search: settings.search ?? "index" };
}

async function openWebSearch(settings: ToolSettings): Promise<Opened> {
  const { webSearch } = await import("../tools/search/web-search.ts");
  const opened = await openSearchProvider(settings);
  if ("remedy" in opened) return opened;
  const tool = webSearch({
    provider: opened.provider,
    count: settings.results,
    blocklist: await readBlocklist(settings.block),
  });
  return { tool, detail: opened.detail, close: opened.close };
}

async function openCrawlPage(settings: ToolSettings): Promise<Opened> {
  const { crawlPage } = await import("../tools/crawl/crawl-page.ts");
  const { refusal } = await readBlocklist(settings.block);
  const summarise = settings.summarisePages ? await pageSummaries() : undefined;
  if (settings.reader === "jina") {
    const { jinaReader } = await import("../tools/crawl/jina-reader.ts");
    const fetchPage = jinaReader({ apiKey: process.env["JINA_API_KEY"] });
    return { tool: crawlPage({ fetchPage, refusal, summarise }), detail: "Jina Reader" };
  }
  const [{ cachedFetch }, { pageFetcher }, { politeFetch }] = await Promise.all([
    import("../tools/crawl/cached-fetch.ts"),
    import("../tools/crawl/fetch-page.ts"),
    import("../tools/crawl/polite-fetch.ts"),
  ]);
  const fetcher = pageFetcher({ allowHosts: settings.allowHosts });
  const fetchWeb = cachedFetch(politeFetch(fetcher.fetchPage, { robots: settings.robots }));
  const index = settings.index ? await openOnce(settings.index) : undefined;
  const detail = `${index ? `documents of ${settings.docs ?? settings.index}, ` : ""}public pages${settings.allowHosts.length > 0 ? ` and ${settings.allowHosts.join(", ")}` : ""}`;
  const fetchPage = index
    ? (await import("../tools/local-index/document-fetch.ts")).documentFetch(index, fetchWeb)
    : fetchWeb;
  const close = () => Promise.all([fetcher.close(), index?.close()]);
  return { tool: crawlPage({ fetchPage, refusal, summarise }), detail, close };
}

async function pageSummaries() {
  const [{ openaiCompatible }, { summarisePage }] = await Promise.all([
    import("../models/openai-compatible.ts"),
    import("../tools/crawl/summarise-page.ts"),
  ]);
  return summarisePage({ model: openaiCompatible() });
}

async function openWikiSearch(settings: ToolSettings): Promise<Opened> {
  const { indexRetriever, retrievalClient, wikiSearch } = await import("../tools/search/wiki-search.ts");
  if (settings.retrieval) {
    return { tool: wikiSearch({ retrieve: retrievalClient({ url: settings.retrieval }) }), detail: settings.retrieval };
  }
  if (!settings.index)
    return { detail: "no corpus", remedy: "give --docs <folder>, --index <folder> or --set tools.retrieval=<url>" };
  const index = await openOnce(settings.index);
  const detail = `index ${settings.index}, ${index.size} passages`;
  return { tool: wikiSearch({ retrieve: indexRetriever(index) }), detail, close: index.close };
}

async function openCode(): Promise<Opened> {
  const [{ codeTool }, { chooseSandbox }] = await Promise.all([
    import("../tools/code.ts"),
    import("../tools/sandbox/choose-sandbox.ts"),
  ]);
  try {
    const sandbox = chooseSandbox();
    const { kind, strength } = sandbox.level;
    return { tool: codeTool({ sandbox }), detail: `${kind} sandbox, ${strength}`, close: () => sandbox.close() };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return { detail: (error as Error).message, remedy: "see: coa doctor" };
  }
}

async function openVisualInspector(settings: ToolSettings): Promise<Opened> {
  const model = settings.visionModel ?? process.env["COA_VISION_MODEL"];
  const baseURL = process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
  const apiKey = process.env["OPENAI_API_KEY"];
  if (!model) return { detail: "no vision model", remedy: "set tools.visionModel and OPENAI_BASE_URL" };
  const { visualInspector } = await import("../tools/visual-inspector.ts");
  const tool = visualInspector({ baseURL, model, apiKey, folders: [settings.imageFolder] });
  return { tool, detail: `${model} at ${new URL(baseURL).host}, images in ${settings.imageFolder}` };
}

/** Rules given one by one, by file, or as `benchmarks`. */
async function readBlocklist(rules: readonly string[]) {
  const { benchmarkBlocklist, blocklist } = await import("../tools/search/blocklist.ts");
  const entries = rules.flatMap((rule) => {
    if (rule === "benchmarks") return [...benchmarkBlocklist];
    return existsSync(rule) ? readFileSync(rule, "utf8").split("\n") : [rule];
  });
  return blocklist(entries);
}
