/**
 * A file over its limit holds two ideas, and a folder over its budget has grown without a decision. What adds a capability
 * raises its folder's budget in the same commit; what adds none is to be deleted. Tests do not count.
 */
import { rowOf } from "./check-imports.ts";
import { sourceFiles } from "./source-files.ts";

const sourceLimit = 400;
const testLimit = 500;

/** Lines a folder may have, by its row of the import table. */
export const folderBudgets: Readonly<Record<string, number>> = {
  core: 3115,
  "base/files": 1970,
  "base/http": 850,
  "base/wire": 2800,
  "base/redact": 400,
  language: 3350,
  tokenizers: 950,
  models: 1550,
  engines: 8400,
  tools: 7295,
  graders: 3900,
  tasks: 1600,
  chain: 2500,
  team: 1620,
  record: 6400,
  distill: 2950,
  dataset: 1620,
  train: 3110,
  evaluate: 1600,
  report: 955,
  lab: 3850,
  serve: 6540,
  "studio/api": 4200,
  "studio/app": 6500,
  cli: 9640,
  testing: 1350,
};

/** Complaints about files over their limit and folders over their budget. */
export function checkSize(root: string): string[] {
  const complaints: string[] = [];
  const lines = new Map<string, number>();
  for (const { path, text } of sourceFiles(root)) {
    const count = text.split("\n").length - 1;
    const isTest = /\.test\.tsx?$/.test(path);
    const limit = isTest ? testLimit : sourceLimit;
    if (count > limit) complaints.push(`${path}: ${count} lines, the limit is ${limit}: split it by idea`);
    if (!isTest) lines.set(rowOf(path), (lines.get(rowOf(path)) ?? 0) + count);
  }
  for (const [row, count] of lines) {
    const budget = folderBudgets[row];
    if (budget !== undefined && count > budget)
      complaints.push(
        `src/${row}: ${count} lines, its budget is ${budget}: delete what adds no capability, or raise the budget in scripts/check-size.ts with the capability that needs it`,
      );
  }
  return complaints;
}
