/** Lists, facets, the parts of long texts, and the new lines of files that grow. */
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-value.ts";
import { textAt } from "./cut-text.ts";
import { readRange } from "./open-catalog.ts";
import type { ItemFilter, ItemSort } from "./query-items.ts";
import { facetNames, sorts } from "./query-items.ts";
import { askedItem, NotFound, type Reader, type StudioContext } from "./reader.ts";

const largestPage = 500;
const partCharacters = 100_000;

/** The filter that a question (or the browser's address) names. */
export function filterOf(query: URLSearchParams): ItemFilter {
  const kind = query.get("kind") ?? "chain";
  if (kind !== "run" && kind !== "chain" && kind !== "example") {
    throw new UsageError(`kind is run, chain or example, not "${kind}"`);
  }
  const values: ItemFilter["values"] = {};
  for (const name of facetNames) if (query.has(name)) values[name] = query.getAll(name);
  return { kind, q: query.get("q") || undefined, task: query.get("task") || undefined, values };
}

/** `GET /api/items?kind=chain&q=…&sort=-reward&offset=0&limit=100`. */
export const readItems: Reader = (query, { items }) => {
  const offset = Math.max(0, Number(query.get("offset") ?? 0) || 0);
  const limit = Math.min(largestPage, Math.max(1, Number(query.get("limit") ?? 100) || 100));
  return items.page(filterOf(query), sortOf(query), offset, limit);
};

/** The order that a question names: `-reward` is from the highest on. */
export function sortOf(query: URLSearchParams): { by: ItemSort; down: boolean } {
  const named = query.get("sort") || "order";
  const down = named.startsWith("-");
  const by = (down ? named.slice(1) : named) as ItemSort;
  if (!Object.hasOwn(sorts, by)) throw new UsageError(`can't sort by "${by}"`);
  return { by, down };
}

/** `GET /api/facets?kind=chain&…`. */
export const readFacets: Reader = (query, { items }) => items.facets(filterOf(query));

/** `GET /api/text?kind=chain&id=…&path=segments.3.text&from=8000`: the next part of a long text. */
export const readText: Reader = (query, context) => {
  const { stored } = askedItem(query, context, query.get("kind") === "run" ? "run" : "chain");
  const record = stored.kind === "run" ? stored.run : stored.kind === "chain" ? stored.chain : stored.example;
  const text = textAt(record, query.get("path") ?? "");
  if (text === undefined) throw new NotFound(`no text stands at ${query.get("path")}`);
  const from = Math.max(0, Number(query.get("from") ?? 0) || 0);
  return { text: text.slice(from, from + partCharacters), from, length: text.length };
};

const mostBytes = 1 << 20;

/** `GET /api/lines?file=…&from=…`: new lines, so that live curves grow without a line sent twice. Only files of the catalog. */
export function readLines(query: URLSearchParams, { catalog, root }: StudioContext) {
  const path = join(root, query.get("file") ?? "");
  const file = catalog.files().find((one) => one.path === path);
  if (!file) throw new NotFound(`${query.get("file")} is not one of the files that were opened`);
  const from = Math.max(0, Number(query.get("from") ?? 0) || 0);
  const bytes = readRange(path, from, Math.max(0, Math.min(mostBytes, file.size - from)));
  const end = bytes.lastIndexOf(10) + 1;
  /** `next` is where to read on, `bad` counts lines that are not JSON. */
  const view = { lines: [] as unknown[], next: from + end, size: file.size, bad: 0 };
  for (const line of bytes.subarray(0, end).toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    const value = parseJson(line);
    if (value === undefined) view.bad++;
    else view.lines.push(value);
  }
  return view;
}

/** Whole lines after a place. */
export type LinesView = ReturnType<typeof readLines>;
