/**
 * Puts the tools together from settings and environment: which search service, which index, which sandbox, which MCP
 * servers. A tool that can't be set up is reported with what to do about it, and only stops the command when it was asked
 * for by name.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { loadModule } from "../base/files/load-module.ts";
import { jsonlJournal } from "../base/files/open-jsonl.ts";
import { readAllJsonl, readJsonl } from "../base/files/read-jsonl.ts";
import { openWorkspace } from "../base/files/workspace.ts";
import { replayedTools } from "../chain/replayed-tools.ts";
import { type ToolSet, toolsByName } from "../chain/tool-set.ts";
import { UsageError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import { teamRunSchema } from "../core/team-run.ts";
import type { Tool } from "../core/tool.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import { codeTool } from "../tools/code.ts";
import { cachedFetch } from "../tools/crawl/cached-fetch.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { pageFetcher } from "../tools/crawl/fetch-page.ts";
import { politeFetch } from "../tools/crawl/polite-fetch.ts";
import { summarisePage } from "../tools/crawl/summarise-page.ts";
import { indexCorpus, isIndexOf } from "../tools/local-index/index-corpus.ts";
import { documentFetch, type LocalIndex, openIndex } from "../tools/local-index/open-index.ts";
import { connectMcp } from "../tools/mcp/connect-mcp.ts";
import { chooseSandbox } from "../tools/sandbox/choose-sandbox.ts";
import { benchmarkBlocklist, blocklist } from "../tools/search/blocklist.ts";
import { cachedSearch, type SearchRecord } from "../tools/search/cached-search.ts";
import { indexProvider } from "../tools/search/index-provider.ts";
import {
  type WebProviderName,
  webProviderFromEnvironment,
  webProviderNames,
  webProviderVariables,
} from "../tools/search/web-providers.ts";
import { type SearchProvider, webSearch } from "../tools/search/web-search.ts";
import { indexRetriever, retrievalClient, wikiSearch } from "../tools/search/wiki-search.ts";
import { visualInspector } from "../tools/visual-inspector.ts";
import { parseFaultPlan, withFaults } from "../tools/with-faults.ts";
import { documentIndexFolder } from "./document-index.ts";
import type { Session } from "./session.ts";
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
}

type Opened = { tool: Tool; detail: string } | { detail: string; remedy: string };

const makers: Record<string, (settings: ToolSettings, session: Session) => Promise<Opened>> = {
  web_search: openWebSearch,
  crawl_page: openCrawlPage,
  wiki_search: openWikiSearch,
  code: openCode,
  visual_inspector: openVisualInspector,
};

export async function openTools(given: ToolSettings, session: Session): Promise<OpenTools> {
  const settings = await withDocuments(given, session);
  const names = settings.names.flatMap((text) => text.split(",").map((name) => name.trim())).filter(Boolean);
  const named = names.length > 0 ? names : undefined;
  const found: { state: ToolState; tool?: Tool }[] = [];
  const add = (tool: Tool, detail: string) => found.push({ tool, state: { name: tool.name, ready: true, detail } });
  const own = await ownTools(settings.modules);
  for (const [name, open] of Object.entries(makers)) {
    // The user's own tool replaces ours of the same name.
    if (own.some(({ tool }) => tool.name === name)) continue;
    // Recorded runs bring their own tools; others are there when asked for.
    if (named ? !named.includes(name) : settings.recorded !== undefined) continue;
    const opened = await open(settings, session);
    if ("tool" in opened) add(opened.tool, opened.detail);
    else if (named) throw new UsageError(`${name}: ${opened.detail}; ${opened.remedy}`);
    else found.push({ state: { name, ready: false, ...opened } });
  }
  for (const { tool, file } of own) add(tool, file);
  for (const text of settings.mcp) {
    const [command = "", ...args] = text.split(/\s+/).filter(Boolean);
    const server = /^https?:\/\//.test(text) ? { url: text } : { command, args };
    const connection = session.closeAtEnd(await connectMcp(server, { signal: session.signal }));
    for (const tool of connection.tools) add(tool, `MCP server ${connection.serverName}`);
  }
  for (const tool of await recordedTools(settings.recorded))
    if (!found.some(({ tool: known }) => known?.name === tool.name)) add(tool, `replayed from ${settings.recorded}`);
  const states = found.map(({ state }) => state);
  const unknown = named?.find((name) => !states.some((state) => state.name === name));
  if (unknown)
    throw new UsageError(
      `there is no tool "${unknown}". There are: ${[...Object.keys(makers), ...states.map(({ name }) => name)].join(", ")}`,
    );
  const wanted = found.flatMap(({ tool }) => (tool && (named?.includes(tool.name) ?? true) ? [tool] : []));
  return { tools: disturbance(settings.faults)(wanted), states };
}

/** What `--tool-faults` does to tools: the faults of its plan, or nothing. */
export function disturbance(plan: string | undefined): (tools: Tool[]) => Tool[] {
  if (!plan) return (tools) => tools;
  const faults = parseFaultPlan(plan);
  return (tools) => withFaults(tools, faults);
}

/** Tools of the user's own, from what modules export: a set or one tool by default, and tools under names. */
async function ownTools(files: readonly string[]): Promise<{ tool: Tool; file: string }[]> {
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

async function recordedTools(file: string | undefined): Promise<Tool[]> {
  if (file === undefined) return [];
  if (!existsSync(file)) throw new UsageError(`--recorded ${file}: there is no such file`);
  return replayedTools(await readAllJsonl(file, teamRunSchema));
}

/** The user's documents become an index in the workspace, made again when a file changed. */
export async function withDocuments(settings: ToolSettings, { note, signal }: Session): Promise<ToolSettings> {
  if (settings.docs === undefined) return settings;
  if (settings.index !== undefined) throw new UsageError("give --docs or --index, not both");
  const folder = await documentIndexFolder(settings.docs);
  if (!(await isIndexOf(folder, settings.docs))) {
    const onProblem = (problem: string) => note(`skipped: ${problem}`);
    const report = await indexCorpus(settings.docs, folder, { onProblem, signal });
    note(`indexed ${settings.docs}: ${report.documentCount} passages, ${report.skipped.length} skipped`);
  }
  return { ...settings, index: folder, search: settings.search ?? "index" };
}

async function openWebSearch(settings: ToolSettings, session: Session): Promise<Opened> {
  const opened = await openSearchProvider(settings, session);
  if ("remedy" in opened) return opened;
  const { provider, detail } = opened;
  return {
    tool: webSearch({ provider, count: settings.results, blocklist: readBlocklist(settings.block) }),
    detail,
  };
}

async function openCrawlPage(settings: ToolSettings, session: Session): Promise<Opened> {
  const { refusal } = readBlocklist(settings.block);
  const summarise = settings.summarisePages
    ? summarisePage({ model: session.closeAtEnd(openaiCompatible()) })
    : undefined;
  const { index: folder, docs = folder, allowHosts, robots } = settings;
  const fetchWeb = cachedFetch(politeFetch(session.closeAtEnd(pageFetcher({ allowHosts })).fetchPage, { robots }));
  const fetchPage = folder ? documentFetch(await openOnce(folder, session), fetchWeb) : fetchWeb;
  const detail = `${docs ? `documents of ${docs}, ` : ""}${["public pages", ...allowHosts].join(" and ")}`;
  return { tool: crawlPage({ fetchPage, refusal, summarise }), detail };
}

async function openWikiSearch({ retrieval, index: folder }: ToolSettings, session: Session): Promise<Opened> {
  if (retrieval) return { tool: wikiSearch({ retrieve: retrievalClient({ url: retrieval }) }), detail: retrieval };
  if (!folder)
    return { detail: "no corpus", remedy: "give --docs <folder>, --index <folder> or --set tools.retrieval=<url>" };
  const index = await openOnce(folder, session);
  return {
    tool: wikiSearch({ retrieve: indexRetriever(index) }),
    detail: `index ${folder}, ${index.size} passages`,
  };
}

async function openCode(_settings: ToolSettings, session: Session): Promise<Opened> {
  try {
    const sandbox = session.closeAtEnd(chooseSandbox());
    const { kind, strength } = sandbox.level;
    return { tool: codeTool({ sandbox }), detail: `${kind} sandbox, ${strength}` };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return { detail: (error as Error).message, remedy: "see: coa doctor" };
  }
}

async function openVisualInspector({ visionModel, imageFolder }: ToolSettings): Promise<Opened> {
  const model = visionModel ?? process.env["COA_VISION_MODEL"];
  const baseURL = process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
  const apiKey = process.env["OPENAI_API_KEY"];
  if (!model) return { detail: "no vision model", remedy: "set tools.visionModel and OPENAI_BASE_URL" };
  const tool = visualInspector({ baseURL, model, apiKey, folders: [imageFolder] });
  return { tool, detail: `${model} at ${new URL(baseURL).host}, images in ${imageFolder}` };
}

/** Rules given one by one, by file, or as `benchmarks`. */
function readBlocklist(rules: readonly string[]) {
  return blocklist(
    rules.flatMap((rule) => {
      if (rule === "benchmarks") return [...benchmarkBlocklist];
      return existsSync(rule) ? readFileSync(rule, "utf8").split("\n") : [rule];
    }),
  );
}

type OpenedSearch = { provider: SearchProvider; detail: string } | { detail: string; remedy: string };

/** Opens the index, or the service that is set up, behind the cache. */
async function openSearchProvider(settings: Section<"tools">, session: Session): Promise<OpenedSearch> {
  const { search, index: folder, replaySearches: replay } = settings;
  if (search === "index" || (search === undefined && folder)) {
    if (!folder) throw new UsageError("--search index needs --index <folder>; build one with: coa index build");
    const index = await openOnce(folder, session);
    return { provider: indexProvider(index), detail: `index ${folder}, ${index.size} passages` };
  }
  if (search !== undefined && !webProviderNames.includes(search as WebProviderName))
    throw new UsageError(`--search is one of ${webProviderNames.join(", ")}, index; not "${search}"`);
  const provider =
    replay && search
      ? { name: search, search: () => Promise.reject(new Error("a replay never asks")) }
      : webProviderFromEnvironment(process.env, search as WebProviderName | undefined);
  if (!provider) {
    const variables = webProviderVariables();
    return {
      detail: "no search service",
      remedy: `set one of ${variables.join(", ")}, or give --docs <folder> or --index <folder>`,
    };
  }
  const file = settings.searchCache ?? (await openWorkspace()).path("cache", "search.jsonl");
  const journal = session.closeAtEnd(replay ? readOnly(file) : await writable(file));
  const cached = cachedSearch(provider, { journal, mode: replay ? "replay" : "use" });
  return { provider: cached, detail: `${provider.name}${replay ? ", from the cache alone" : ""}` };
}

const opened = new WeakMap<Session, Map<string, Promise<LocalIndex>>>();

/** An index that several tools share: opened by the first of them. */
function openOnce(folder: string, session: Session): Promise<LocalIndex> {
  const ofSession = opened.get(session) ?? new Map<string, Promise<LocalIndex>>();
  opened.set(session, ofSession);
  const opening = ofSession.get(folder) ?? openIndex(folder).then((index) => session.closeAtEnd(index));
  ofSession.set(folder, opening);
  return opening;
}

/** The cache file; when another process is writing to it, what it holds can still be used. */
async function writable(file: string): Promise<Journal<SearchRecord>> {
  try {
    return await jsonlJournal<SearchRecord>(file);
  } catch {
    return readOnly(file);
  }
}

function readOnly(file: string): Journal<SearchRecord> {
  return { read: () => readJsonl<SearchRecord>(file), append: async () => {}, close: async () => {} };
}
