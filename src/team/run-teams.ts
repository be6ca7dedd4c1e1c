/**
 * Many tasks, several at a time. Finished runs go to a journal as they come, so a stopped batch resumes; a
 * budget for the whole batch stops new runs from starting. Runs are yielded in the order in which they end.
 */
import { checkOptions } from "../base/work/check-options.ts";
import { asTheyEnd } from "../base/work/limiter.ts";
import { throwIfUserMustFix } from "../core/ending.ts";
import type { OnProgress } from "../core/events.ts";
import type { Journal } from "../core/journal.ts";
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import { addUsage, emptyUsage } from "../core/usage.ts";
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
  /** How one task is run; once by default. */
  run?: (task: Task, options: TeamOptions) => Promise<TeamRun>;
  onProgress?: OnProgress;
}

export async function* runTeams(
  tasks: Iterable<Task> | AsyncIterable<Task>,
  options: TeamsOptions,
): AsyncGenerator<TeamRun> {
  checkOptions("runTeams", options);
  const {
    concurrency = 4,
    journal,
    totalBudget = {},
    retryErrors,
    run: runOne = runTeam,
    onProgress,
    ...team
  } = options;
  const { signal } = team;
  const done = await finishedTasks(journal, retryErrors ?? false);
  const waiting: Task[] = [];
  for await (const task of tasks) {
    if (done.has(task.id)) continue;
    done.add(task.id);
    waiting.push(task);
  }
  const total = waiting.length;
  let usage = emptyUsage();
  let ended = 0;
  function* affordable(): Generator<Task> {
    for (const [started, task] of waiting.entries()) {
      signal?.throwIfAborted();
      const { runs = Infinity, tokens = Infinity, costUsd = Infinity } = totalBudget;
      if (started >= runs || usage.billedTokens >= tokens || usage.costUsd >= costUsd) return;
      yield task;
    }
  }
  for await (const run of asTheyEnd(affordable(), { concurrency }, async (task) => {
    const run = await runOne(task, team);
    throwIfUserMustFix(run.ending);
    await journal?.append(run);
    return run;
  })) {
    usage = addUsage(usage, run.usage);
    ended++;
    onProgress?.({
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
}

async function finishedTasks(journal: Journal<TeamRun> | undefined, retryErrors: boolean): Promise<Set<string>> {
  const done = new Set<string>();
  for await (const run of journal?.read() ?? []) {
    const failed = run.ending.reason === "error";
    if (run.taskId !== undefined && !(failed && retryErrors)) done.add(run.taskId);
  }
  return done;
}
