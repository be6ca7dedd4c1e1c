/**
 * A reader answers one kind of question of the browser with plain data. Readers are listed by path in `readers.ts`; the
 * server puts them behind HTTP.
 */
import { UsageError } from "../../core/errors.ts";
import type { NamedProfiles } from "../../language/edit-chain.ts";
import type { AnnotationStore } from "./annotation-store.ts";
import type { Catalog } from "./open-catalog.ts";
import type { ItemQueries, ItemView } from "./query-items.ts";
import { readItem, type StoredItem } from "./read-item.ts";

export interface StudioContext {
  /** The folder that all shown paths are relative to. */
  root: string;
  /** What was opened: absolute paths of files and folders. */
  paths: readonly string[];
  /** The workspace: where what people write in the studio (views, annotations) is kept. */
  home: string;
  catalog: Catalog;
  items: ItemQueries;
  annotations: AnnotationStore;
  /** Profiles that edits are checked against, by name; a chain's own comes first. The built-in ones by default. */
  profiles?: NamedProfiles;
  /** Log-probabilities of tokens under the model in a folder, where an engine is at hand; the first token has none. */
  score?: (folder: string, tokens: readonly number[]) => Promise<(number | null)[]>;
}

export type Reader = (query: URLSearchParams, context: StudioContext) => unknown;

/** A thing that was asked for is not there. */
export class NotFound extends UsageError {
  constructor(message: string) {
    super(message, { code: "not-found" });
  }
}

/** The item that a question names by `id` (and `in`, its file, where several have the id), or an error that says so. */
export function askedItem(
  query: URLSearchParams,
  { items, catalog, root }: StudioContext,
  kind: ItemView["kind"],
  name = "id",
): { item: ItemView; stored: StoredItem } {
  const key = query.get(name) ?? "";
  const item = items.find(kind, key, query.get("in") ?? undefined);
  if (!item) {
    const still = catalog.isReady ? "" : " (the files are still being read: it may come)";
    throw new NotFound(`no ${kind} "${key}" is in what was opened${still}`);
  }
  return { item, stored: readItem(root, item) };
}
