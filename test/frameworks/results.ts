/**
 * What the live apps gave, in a file that the tests compare with and the guide's table is made from. After a change that
 * is meant: `COA_WRITE_RESULTS=1 npm run test:long`, then `node test/frameworks/results.ts`.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LiveApp, liveApps } from "./sdk-apps.ts";

const file = join(import.meta.dirname, "results.json");
const guide = join(import.meta.dirname, "../../docs/guide/record.md");

/** How a way of recording was tried. */
export const forms = [
  "proxy, one task",
  "proxy, four tasks with run ids",
  "preload, one task",
  "preload, four tasks at once",
] as const;
export type Form = (typeof forms)[number];

/**
 * Every run equal to the truth, with its calls and links told (`known`), its links (`links inferred`) or all of it
 * (`inferred`) put together from what was said; or some runs refused for training because they may be wrong.
 */
export type Measured = "known" | "links inferred" | "inferred" | "refused";

type Results = Record<string, Partial<Record<Form, Measured>>>;

function readResults(): Results {
  return JSON.parse(readFileSync(file, "utf8")) as Results;
}

/** Compares with the file, or writes into it where that is asked for. */
export function checkResult({ name }: LiveApp, form: Form, measured: Measured): void {
  if (process.env["COA_WRITE_RESULTS"] === undefined) {
    assert.equal(measured, readResults()[name]?.[form], `${name}, ${form}`);
    return;
  }
  const results = readResults();
  results[name] = { ...results[name], [form]: measured };
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** The guide's table. */
export function resultsTable(): string[] {
  const results = readResults();
  const rows = [
    ["framework", "API", ...forms],
    ...liveApps.map(({ name, api }) => [name, api, ...forms.map((form) => results[name]?.[form] ?? "not tried")]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[], fill = " ") =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!, fill)).join(" | ")} |`;
  return [
    line(rows[0]!),
    line(
      widths.map(() => "-"),
      "-",
    ),
    ...rows.slice(1).map((row) => line(row)),
  ];
}

const opening = "<!-- table from test/frameworks/results.json -->";

/** The guide with the table as the results have it. */
export function guideWithTable(text: string): string {
  const lines = text.split("\n");
  const from = lines.indexOf(opening);
  assert.ok(from >= 0, `${guide} has no line "${opening}"`);
  const start = lines.findIndex((line, index) => index > from && line.startsWith("|"));
  let end = start;
  while (lines[end]?.startsWith("|")) end++;
  return [...lines.slice(0, start), ...resultsTable(), ...lines.slice(end)].join("\n");
}

if (import.meta.main) writeFileSync(guide, guideWithTable(readFileSync(guide, "utf8")));
