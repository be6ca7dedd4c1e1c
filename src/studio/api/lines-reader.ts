/**
 * The new lines of a file since a place in it: how live curves grow without ever sending a line twice. Only files that the
 * index knows can be read.
 */
import { join } from "node:path";
import { readRange } from "./open-catalog.ts";
import { NotFound, type Reader } from "./reader.ts";

const mostBytes = 1 << 20;

/** Whole lines after a place. */
export interface LinesView {
  lines: unknown[];
  /** Where to read on. */
  next: number;
  size: number;
  /** Lines that are not JSON. */
  bad: number;
}

/** `GET /api/lines?file=…&from=…`. */
export const readLines: Reader = (query, { catalog, root }) => {
  const path = join(root, query.get("file") ?? "");
  const file = catalog.files().find((one) => one.path === path);
  if (!file) throw new NotFound(`${query.get("file")} is not one of the files that were opened`);
  const from = Math.max(0, Number(query.get("from") ?? 0) || 0);
  const bytes = readRange(path, from, Math.max(0, Math.min(mostBytes, file.size - from)));
  const end = bytes.lastIndexOf(10) + 1;
  const view: LinesView = { lines: [], next: from + end, size: file.size, bad: 0 };
  for (const line of bytes.subarray(0, end).toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    try {
      view.lines.push(JSON.parse(line));
    } catch {
      view.bad++;
    }
  }
  return view;
};
