/**
 * What the cells gave, in a file that `npm run bench -- record-python` writes and the table of the guide is made from:
 * `node test/python-frameworks/results.ts`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cellName, loads, type PythonFramework, pythonFrameworks, ways } from "./frameworks.ts";

interface Results {
  versions: Record<string, string>;
  /** By the names of the cells. */
  cells: Record<string, string>;
}

const file = join(import.meta.dirname, "results.json");

/** The results so far. */
export function readResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Results) : { versions: {}, cells: {} };
}

/** Keeps results, sorted. */
export function writeResults({ versions, cells }: Results): void {
  const sorted = (record: Record<string, string>) => Object.fromEntries(Object.entries(record).sort());
  writeFileSync(file, `${JSON.stringify({ versions: sorted(versions), cells: sorted(cells) }, null, 2)}\n`);
}

/** Where the table stands. */
export const guide = join(import.meta.dirname, "../../docs/guide/record.md");

const patterns = { tools: "tool calls", code: "wired in code" } as const;

/** One row for each framework, one column for each way and pattern. */
function table(): string[] {
  const { versions, cells } = readResults();
  const columns = ways.flatMap((way) =>
    (Object.keys(patterns) as (keyof typeof patterns)[]).map((kind) => ({ way, kind })),
  );
  const summary = (framework: PythonFramework, { way, kind }: (typeof columns)[number]) => {
    const own = framework[kind].flatMap((mode) =>
      (Object.keys(loads) as (keyof typeof loads)[]).flatMap(
        (load) => cells[cellName({ framework, mode, load, way })] ?? [],
      ),
    );
    const counts = [...Map.groupBy(own, (verdict) => verdict)].map(([verdict, all]) => `${all.length} ${verdict}`);
    return counts.sort((a, b) => Number(b.endsWith("right")) - Number(a.endsWith("right"))).join(", ") || "-";
  };
  return [
    `| framework | ${columns.map(({ way, kind }) => `${way}, ${patterns[kind]}`).join(" | ")} |`,
    `| ${["", ...columns].map(() => "---").join(" | ")} |`,
    ...pythonFrameworks
      .filter(({ name }) => versions[name] !== undefined)
      .map(
        (one) => `| ${one.name} ${versions[one.name]} | ${columns.map((column) => summary(one, column)).join(" | ")} |`,
      ),
  ];
}

/** The guide with the table as the results have it. */
export function guideWithTable(text: string): string {
  const [before, rest] = text.split(/(?<=<!-- table from test\/python-frameworks\/results.json -->\n\n)/, 2);
  return `${before}${table().join("\n")}${rest!.replace(/^(?:\|.*\n?)*/, "\n")}`;
}

if (import.meta.main) writeFileSync(guide, guideWithTable(readFileSync(guide, "utf8")));
