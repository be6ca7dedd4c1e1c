/** A file over its limit holds two ideas. Lines of whole folders are counted here too; their limits are in limits.ts. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sourceFiles } from "./source-files.ts";

const sourceLimit = 400;
const testLimit = 500;

/** Complaints about files over their limit. */
export function checkSize(root: string): string[] {
  return sourceFiles(root).flatMap(({ path, text }) => {
    const count = text.split("\n").length - 1;
    const limit = /\.test\.tsx?$/.test(path) ? testLimit : sourceLimit;
    return count > limit ? [`${path}: ${count} lines, the limit is ${limit}: split it by idea`] : [];
  });
}

/** Lines of code below a folder: TypeScript, CSS, JavaScript, Python and shell, without tests. */
export function linesOf(root: string, folder: string): number {
  return globSync(`${folder}/**/*.{ts,tsx,css,js,mjs,py,sh}`, { cwd: root })
    .filter((path) => !/node_modules|\.test\.tsx?$|__pycache__/.test(path))
    .reduce((sum, path) => sum + readFileSync(join(root, path), "utf8").split("\n").length - 1, 0);
}
