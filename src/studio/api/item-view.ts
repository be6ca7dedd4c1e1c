/** Lists as the browser gets them. */
import type { CatalogRow } from "./catalog-row.ts";

/** One line of a list. */
export interface ItemView extends Omit<CatalogRow, "text"> {
  id: number;
  /** Path of its file, relative to what was opened. */
  file: string;
  line: number;
  offset: number;
  length: number;
}

/** What lists can be narrowed by. */
export type FacetName = "origin" | "system" | "family" | "ending" | "reward" | "file";

/** What a list can be sorted by. */
export type ItemSort = "order" | "reward" | "tokens" | "moves" | "calls";

/** Which items are wanted. */
export interface ItemFilter {
  kind: "run" | "chain" | "example";
  q?: string;
  task?: string;
  values?: Partial<Record<FacetName, string[]>>;
}

export interface ItemPage {
  rows: ItemView[];
  total: number;
  offset: number;
}

/** The values of one facet with how many items have each. */
export interface FacetView {
  name: FacetName;
  values: { value: string; count: number }[];
  /** Values that are not listed. */
  more: number;
}
