/** What `coa show` knows of a thing: one value for programs, text for a person, a page or records where there are some. */
import type { Output } from "../output.ts";

export interface Shown {
  /** What `--json` prints, or a promise of it. */
  json: unknown;
  text: string;
  notes?: readonly string[];
  html?: () => string;
  /** Its records, for `--out`. */
  records?: () => AsyncIterable<unknown>;
  broken?: boolean;
}

export interface Asked {
  /** One item: an id, a task, a number, the words to search for. */
  item?: string;
  /** A line for every item, instead of the summary; with an item, more of it. */
  all: boolean;
  out: Pick<Output, "style" | "width" | "isTTY">;
  signal: AbortSignal;
}

export type View = (path: string, asked: Asked) => Promise<Shown>;
