/** The HTML report of stored evaluations, with the runs behind its examples read from their folders. */

import { comparisonHtml, type ReportOptions, runKey } from "../report/comparison-html.ts";
import type { Comparison } from "../report/figures.ts";
import { readRuns, type StoredEvaluation } from "./read-evaluation.ts";

/** The whole page. `comparison` must be of these evaluations, in this order. */
export async function comparisonReport(
  evaluations: readonly StoredEvaluation[],
  comparison: Comparison,
  options: Omit<ReportOptions, "questions" | "runs"> = {},
): Promise<string> {
  const shown = comparison.differing.slice(0, options.examples ?? 20);
  const ids = new Set(shown.flatMap(({ outcomes }) => Object.values(outcomes).flatMap(({ runId }) => runId ?? [])));
  const runs = new Map<string, unknown>();
  for (const [i, { folder }] of evaluations.entries()) {
    const { system } = comparison.rows[i]!;
    for (const [id, run] of await readRuns(folder, ids)) runs.set(runKey(system, id), run);
  }
  const questions = new Map(evaluations.flatMap(({ tasks }) => tasks.map((task) => [task.id, task] as const)));
  return comparisonHtml(comparison, { ...options, questions, runs });
}
