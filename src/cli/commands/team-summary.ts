/**
 * The totals of a file of team runs: solved tasks, tokens both ways, calls, new plans. A run without an answer counts as
 * unsolved, a task without a run not at all.
 */
import type { Grader } from "../../core/grader.ts";
import type { Task } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { table } from "../output.ts";

export interface TeamSummary {
  tasks: number;
  runs: number;
  /** Of the runs whose tasks have a gold answer. */
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
  const counted = new Map<string, TeamRun & { solved: boolean }>();
  for await (const run of runs) {
    const task = byTask.get(run.taskId ?? "");
    if (!task) continue;
    const solved = task.answers.length > 0 && (await grade(task, run.answer)).correct === true;
    counted.set(task.id, { ...run, solved });
  }
  const all = [...counted.values()];
  const gradable = all.filter(({ taskId }) => byTask.get(taskId ?? "")!.answers.length > 0).length;
  const mean = (figure: "modelCalls" | "toolCalls" | "billedTokens" | "computedTokens") =>
    all.reduce((sum, { usage }) => sum + usage[figure], 0) / Math.max(1, all.length);
  const summary = {
    tasks: tasks.length,
    runs: all.length,
    solvedShare: gradable === 0 ? null : all.filter(({ solved }) => solved).length / gradable,
    replannedShare: all.filter(({ replans = 0 }) => replans > 0).length / Math.max(1, all.length),
    perRun: {
      modelCalls: mean("modelCalls"),
      toolCalls: mean("toolCalls"),
      billedTokens: mean("billedTokens"),
      computedTokens: mean("computedTokens"),
    },
    errors: all.filter(({ ending }) => ending.reason === "error").length,
  };
  const percent = (value: number | null) => (value === null ? "not gradable" : `${(100 * value).toFixed(1)} %`);
  const text = table([
    ["tasks", String(summary.tasks)],
    ["runs", String(summary.runs)],
    [all.length < tasks.length ? "solved, of these runs" : "solved, of all tasks", percent(summary.solvedShare)],
    ["made a new plan", percent(summary.replannedShare)],
    ["ended in an error", String(summary.errors)],
    ["model calls per run", summary.perRun.modelCalls.toFixed(1)],
    ["tool calls per run", summary.perRun.toolCalls.toFixed(1)],
    ["tokens per run, billed", summary.perRun.billedTokens.toFixed(0)],
    ["tokens per run, computed", summary.perRun.computedTokens.toFixed(0)],
  ]);
  return { ...summary, text };
}
