/** A file over its limit holds two ideas. Table-like files are named here, each with its reason. */
import { sourceFiles } from "./source-files.ts";

const sourceLimit = 400;
const testLimit = 500;

/** Files that are long because they are tables, with the limit that fits them. */
const tables: Record<string, number> = {};

/** Complaints about files over their limit. */
export function checkSize(root: string): string[] {
  return sourceFiles(root).flatMap(({ path, text }) => {
    const lines = text.split("\n").length - 1;
    const limit = tables[path] ?? (path.endsWith(".test.ts") ? testLimit : sourceLimit);
    return lines > limit ? [`${path}: ${lines} lines, the limit is ${limit}: split it by idea`] : [];
  });
}
