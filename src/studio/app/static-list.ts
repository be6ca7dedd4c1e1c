/** Lists of an exported studio: the same questions as a server answers, over the rows that were exported. */
import type { FacetName, FacetView, ItemPage, ItemView } from "../api/item-view.ts";

const facetNames: readonly FacetName[] = ["origin", "system", "family", "ending", "reward", "file"];

/** Answers `items?…` and `facets?…`. */
export function staticList(path: string, rows: readonly ItemView[]): ItemPage | FacetView[] {
  const [name = "", text = ""] = path.split("?", 2);
  const query = new URLSearchParams(text);
  const passes = (row: ItemView, except?: FacetName) =>
    row.kind === query.get("kind") &&
    matches(row, query.get("q") ?? "") &&
    facetNames.every(
      (facet) => facet === except || !query.has(facet) || query.getAll(facet).includes(facetValue(row, facet)),
    );
  if (name === "facets")
    return facetNames.map((facet) =>
      facetView(
        facet,
        rows.filter((row) => passes(row, facet)),
      ),
    );
  const sort = query.get("sort") ?? "";
  const found = sorted(
    rows.filter((row) => passes(row)),
    sort,
  );
  const [offset, limit] = [Number(query.get("offset") ?? 0), Number(query.get("limit") ?? 100)];
  return {
    rows: found.slice(offset, offset + limit),
    total: found.length,
    offset,
    index: { ready: true, doneBytes: 0, totalBytes: 0 },
  };
}

function facetView(name: FacetName, rows: readonly ItemView[]): FacetView {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(facetValue(row, name), (counts.get(facetValue(row, name)) ?? 0) + 1);
  const values = [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
  return { name, values, more: 0 };
}

function facetValue(row: ItemView, name: FacetName): string {
  if (name !== "reward") return row[name];
  const { reward } = row;
  return reward === null ? "none" : reward <= 0 ? "0" : reward >= 1 ? "1" : "between";
}

function matches(row: ItemView, words: string): boolean {
  const text = `${row.question} ${row.answer}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function sorted(rows: ItemView[], sort: string): ItemView[] {
  const down = sort.startsWith("-") ? -1 : 1;
  const figure = { reward: "reward", tokens: "billed", moves: "moves", calls: "toolCalls", order: "id" }[
    sort.replace("-", "")
  ];
  if (figure === undefined) return rows;
  const value = (row: ItemView) => (row[figure as "billed"] as number | null) ?? -1;
  return rows.sort((a, b) => down * (value(a) - value(b)));
}
