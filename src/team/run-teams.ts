/**
 * Many tasks, several at a time. Finished runs go to a journal as they come, so a stopped batch goes on where it was; a
 * budget for the whole batch stops new runs from starting. Runs are yielded in the order in which they end.
 */
import type { OnProgress } from "../core/events.ts";
import type { Journal } from "../core/journal.ts";
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import { addUsage, emptyUsage } from "../core/usage.ts";
import { type BestOfOptions, bestOfTeam } from "./best-of-team.ts";
import type { RolePlayer } from "./role.ts";
import { runTeam, type TeamOptions } from "./run-team.ts";

export interface TeamsOptions extends Omit<TeamOptions, "id"> {
  /** Tasks at a time; 4 by default. */
  concurrency?: number;
  /** Where runs are kept. Tasks that have one there already are not run again. */
  journal?: Journal<TeamRun>;
  /** Run a task again whose earlier run ended in an error of its model; false by default. */
  retryErrors?: boolean;
  /** For all runs together: no new run starts once one of these is reached. */
  totalBudget?: { tokens?: number; costUsd?: number; runs?: number };
  /** Run each task n times and keep the best, as a judge chooses; the cost of all is in the run's usage. */
  bestOf?: { n: number; choose?: BestOfOptions["choose"]; judge: RolePlayer };
  onProgress?: OnProgress;
}

/** Runs a team on every task that has no run yet. */
export async function* runTeams(
  tasks: Iterable<Task> | AsyncIterable<Task>,
  options: TeamsOptions,
): AsyncGenerator<TeamRun> {
  const { concurrency = 4, journal, totalBudget = {}, signal } = options;
  const done = await finishedTasks(journal, options.retryErrors ?? false);
  const waiting: Task[] = [];
  for await (const task of tasks) {
    if (done.has(task.id)) continue;
    done.add(task.id);
    waiting.push(task);
  }
  const total = waiting.length;
  const underWay = new Map<string, Promise<TeamRun>>();
  let usage = emptyUsage();
  let started = 0;
  let ended = 0;
  const mayStart = () =>
    !signal?.aborted &&
    started < (totalBudget.runs ?? Number.POSITIVE_INFINITY) &&
    usage.billedTokens < (totalBudget.tokens ?? Number.POSITIVE_INFINITY) &&
    usage.costUsd < (totalBudget.costUsd ?? Number.POSITIVE_INFINITY);
  const start = (task: Task): void => {
    started++;
    underWay.set(
      task.id,
      runOne(task, options).then(async (run) => {
        await journal?.append(run);
        return run;
      }),
    );
  };
  try {
    for (;;) {
      while (underWay.size < concurrency && waiting.length > 0 && mayStart()) start(waiting.shift()!);
      if (underWay.size === 0) {
        if (waiting.length > 0) signal?.throwIfAborted();
        return;
      }
      const [taskId, run] = await Promise.race(
        [...underWay].map(async ([id, running]) => [id, await running] as const),
      );
      underWay.delete(taskId);
      usage = addUsage(usage, run.usage);
      ended++;
      options.onProgress?.({
        stage: "team",
        done: ended,
        total,
        figures: {
          tokens: usage.billedTokens,
          toolCalls: usage.toolCalls,
          ...(usage.costUsd > 0 && { costUsd: usage.costUsd }),
        },
      });
      yield run;
    }
  } finally {
    // Runs still under way must not be left behind as unhandled rejections.
    await Promise.allSettled(underWay.values());
  }
}

async function runOne(task: Task, options: TeamsOptions): Promise<TeamRun> {
  if (!options.bestOf || options.bestOf.n < 2) return runTeam(task, options);
  const { run, index, runs, usage, judgements } = await bestOfTeam(task, { ...options, ...options.bestOf });
  const bestOf = { index, answers: runs.map((one) => one.answer), judgements };
  return { ...run, usage, meta: { ...run.meta, bestOf } };
}

async function finishedTasks(journal: Journal<TeamRun> | undefined, retryErrors: boolean): Promise<Set<string>> {
  const done = new Set<string>();
  for await (const run of journal?.read() ?? []) {
    const failed = (run.meta as { ending?: string } | undefined)?.ending === "error";
    if (run.taskId !== undefined && !(failed && retryErrors)) done.add(run.taskId);
  }
  return done;
}
