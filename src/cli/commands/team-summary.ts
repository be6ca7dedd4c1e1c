/**
 * The totals of a file of team runs: solved tasks, tokens both ways, calls, new plans. Unfinished runs count as
 * unsolved.
 */
import type { Grader } from "../../core/grader.ts";
import type { Task } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { table } from "../output.ts";

export interface TeamSummary {
  tasks: number;
  runs: number;
  /** Of all tasks that have a gold answer; tasks without a run count as unsolved. */
  solvedShare: number | null;
  replannedShare: number;
  perRun: { modelCalls: number; toolCalls: number; billedTokens: number; computedTokens: number };
  errors: number;
  text: string;
}

/** Grades and counts runs; of several runs of one task the last counts. */
export async function summariseTeamRuns(
  runs: AsyncIterable<TeamRun>,
  tasks: readonly Task[],
  grade: Grader,
): Promise<TeamSummary> {
  const byTask = new Map(tasks.map((task) => [task.id, task]));
  const counted = new Map<
    string,
    { solved: boolean | null; replanned: boolean; error: boolean; usage: TeamRun["usage"] }
  >();
  for await (const run of runs) {
    const task = byTask.get(run.taskId ?? "");
    if (!task) continue;
    const solved = task.answers.length === 0 ? null : (await grade(task, run.answer)).correct;
    counted.set(task.id, {
      solved,
      replanned: (run.replans ?? 0) > 0,
      error: run.ending.reason === "error",
      usage: run.usage,
    });
  }
  const all = [...counted.values()];
  const gradable = tasks.filter((task) => task.answers.length > 0).length;
  const mean = (pick: (usage: TeamRun["usage"]) => number) =>
    all.length === 0 ? 0 : all.reduce((sum, one) => sum + pick(one.usage), 0) / all.length;
  const share = (test: (one: (typeof all)[number]) => boolean, of: number) =>
    of === 0 ? 0 : all.filter(test).length / of;
  const summary = {
    tasks: tasks.length,
    runs: all.length,
    solvedShare: gradable === 0 ? null : share((one) => one.solved === true, gradable),
    replannedShare: share((one) => one.replanned, all.length),
    perRun: {
      modelCalls: mean((usage) => usage.modelCalls),
      toolCalls: mean((usage) => usage.toolCalls),
      billedTokens: mean((usage) => usage.billedTokens),
      computedTokens: mean((usage) => usage.computedTokens),
    },
    errors: all.filter((one) => one.error).length,
  };
  const percent = (value: number | null) => (value === null ? "not gradable" : `${(100 * value).toFixed(1)} %`);
  const text = table([
    ["tasks", String(summary.tasks)],
    ["runs", String(summary.runs)],
    ["solved, of all tasks", percent(summary.solvedShare)],
    ["made a new plan", percent(summary.replannedShare)],
    ["ended in an error", String(summary.errors)],
    ["model calls per run", summary.perRun.modelCalls.toFixed(1)],
    ["tool calls per run", summary.perRun.toolCalls.toFixed(1)],
    ["tokens per run, billed", summary.perRun.billedTokens.toFixed(0)],
    ["tokens per run, computed", summary.perRun.computedTokens.toFixed(0)],
  ]);
  return { ...summary, text };
}
