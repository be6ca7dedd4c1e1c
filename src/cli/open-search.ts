/** The search provider that settings and environment ask for, with its cache in the workspace. */

import { jsonlJournal } from "../base/files/open-jsonl.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { openWorkspace } from "../base/files/workspace.ts";
import { UsageError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import { type LocalIndex, openIndex } from "../tools/local-index/open-index.ts";
import { cachedSearch, type SearchRecord } from "../tools/search/cached-search.ts";
import { indexProvider } from "../tools/search/index-provider.ts";
import {
  type WebProviderName,
  webProviderFromEnvironment,
  webProviderNames,
  webProviderVariables,
} from "../tools/search/web-providers.ts";
import type { SearchProvider } from "../tools/search/web-search.ts";
import type { Session } from "./session.ts";
import type { Section } from "./settings/index.ts";

export type OpenedSearch = { provider: SearchProvider; detail: string } | { detail: string; remedy: string };

/** Opens the index, or the service that is set up, behind the cache. */
export async function openSearchProvider(settings: Section<"tools">, session: Session): Promise<OpenedSearch> {
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
export function openOnce(folder: string, session: Session): Promise<LocalIndex> {
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
