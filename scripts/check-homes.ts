/**
 * Each mechanism has one home (docs/decisions/2026-11-16-one-home.md). A copy begins with a line that looks harmless: these are
 * the lines, and where they may stand. Tests may write what they like.
 */
import { type SourceFile, sourceFiles } from "./source-files.ts";

interface HomeRule {
  what: string;
  /** The line that begins a copy. */
  sign: RegExp;
  /** Paths that may have it: the home, and those that a decision names. */
  homes: RegExp;
  instead: string;
}

const rules: readonly HomeRule[] = [
  {
    what: "a worker thread of its own",
    sign: /\bnew Worker\(/,
    homes: /^src\/base\/work\/thread\.ts$/,
    instead: "startThread of base/work/thread.ts",
  },
  {
    what: "a server of its own",
    sign: /\bcreateServer\(/,
    homes: /^src\/(base\/http|testing)\//,
    instead: "listen of base/http/listen.ts",
  },
  {
    what: "a back-off of its own",
    sign: /^(?=.*(?:\b2 \*\* [a-z(]|\bMath\.pow\(2,))(?=.*(?:delay|pause|sleep|wait|back-?off|retr[iy]|tries|attempt))/i,
    homes: /^src\/base\/work\/retry\.ts$/,
    instead: "retryDelay of base/work/retry.ts",
  },
  {
    what: "lines cut by hand",
    sign: /\bindexOf\((?:10|0x0a)\b|\bfrom "node:readline"|\.split\((?:"\\n"|\/\\r\?\\n\/)\);?\s*\w+ = \w+\.pop\(\)/,
    // A child of a sandbox may import nothing, its parent takes one line at a time, and a pickle is not text.
    homes: /^src\/(base\/files\/lines|tools\/sandbox\/(pyodide-boot|line-child)|tasks\/benchmarks\/read-pickle)\.ts$/,
    instead: "fileLines or lineCutter of base/files/lines.ts",
  },
];

const metaRead = /(?<!\bimport)(?:\.|\?\.)meta(?:\[|\.|\?\.|!)|\bmeta\[["'`]/;
const asNever = /\bas never\b/;

/** Complaints about mechanisms outside their homes. */
export function misplaced(files: readonly SourceFile[]): string[] {
  return rules.flatMap(({ what, sign, homes, instead }) =>
    linesWith(files, sign)
      .filter(({ path }) => !homes.test(path))
      .map(({ path, line }) => `${path}:${line}: ${what}: use ${instead}`),
  );
}

/** What the limits count in the sources: reads of `meta`, which belongs to users, and casts that switch the compiler off. */
export function countSigns(files: readonly SourceFile[]) {
  return { "reads of meta": linesWith(files, metaRead).length, "as never": linesWith(files, asNever).length };
}

function linesWith(files: readonly SourceFile[], sign: RegExp): { path: string; line: number }[] {
  return files
    .filter(({ path }) => !/\.test\.tsx?$/.test(path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      // With the next line, for signs that the formatter may break.
      return lines.flatMap((line, index) =>
        sign.test(line) || (!sign.test(lines[index + 1] ?? "") && sign.test(`${line}\n${lines[index + 1] ?? ""}`))
          ? [{ path, line: index + 1 }]
          : [],
      );
    });
}

/** The check over one tree. */
export function checkHomes(root: string): string[] {
  return misplaced(sourceFiles(root));
}
