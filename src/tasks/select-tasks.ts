/**
 * Which tasks are worth having. A task that a model answers without tools teaches nothing about tools; one that a team or
 * the current model never solves gives nothing to learn from, and for RL one that is always solved has no variance. So
 * pass rates are estimated, without tools and with them, and tasks between the bounds are kept. Tasks already used for
 * SFT stay out. Every dropped task has its reason.
 */

import { inParallel } from "../base/work/limiter.ts";
import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";

export type AnswerTask = (task: Task, sample: number, signal?: AbortSignal) => Promise<string | null>;

export interface SelectionOptions {
  grade: Grader;
  /** Answers from memory alone, and how often to ask; absent = this test is skipped. */
  withoutTools?: { answer: AnswerTask; samples: number; maxPassRate: number };
  /** Answers with tools: a team, or the current model as RL will run it. Where nothing is too easy (`maxPassRate` 1), trying ends when enough is solved. */
  withTools?: { answer: AnswerTask; samples: number; minPassRate: number; maxPassRate: number };
  /** Ids of tasks used for SFT. */
  exclude?: ReadonlySet<string>;
  concurrency?: number;
  signal?: AbortSignal;
  onDecision?: (decision: Decision) => void;
}

export interface Decision {
  task: Task;
  kept: boolean;
  reason: string;
  /** Right answers of the tries that were made. */
  passRates: { withoutTools?: number; withTools?: number };
}

/** Decides for each task; the decisions come in the order of the tasks. */
export async function selectTasks(tasks: readonly Task[], options: SelectionOptions): Promise<Decision[]> {
  return inParallel(tasks, options.concurrency ?? 16, async (task) => {
    options.signal?.throwIfAborted();
    const decision = await decide(task, options);
    options.onDecision?.(decision);
    return decision;
  });
}

async function decide(task: Task, options: SelectionOptions): Promise<Decision> {
  const { withoutTools, withTools, exclude } = options;
  const passRates: Decision["passRates"] = {};
  const drop = (reason: string): Decision => ({ task, kept: false, reason, passRates });
  if (exclude?.has(task.id)) return drop("used for SFT");
  if (task.answers.length === 0) return drop("the task has no answer to check against");
  if (withoutTools) {
    const rate = await passRate(task, withoutTools, options);
    passRates.withoutTools = rate;
    if (rate > withoutTools.maxPassRate) return drop(`answered without tools in ${percent(rate)} of the tries`);
  }
  if (withTools) {
    const enough = withTools.maxPassRate < 1 ? undefined : withTools.minPassRate * withTools.samples;
    const rate = await passRate(task, withTools, options, enough);
    passRates.withTools = rate;
    if (rate < withTools.minPassRate) return drop(`solved in only ${percent(rate)} of the tries: too hard for now`);
    if (rate > withTools.maxPassRate) return drop(`solved in ${percent(rate)} of the tries: nothing left to learn`);
  }
  return { task, kept: true, reason: "informative", passRates };
}

/** Share of right answers among all tries (until `enough` are right): one that could not be judged is not right, and stays in the denominator. */
async function passRate(
  task: Task,
  ask: { answer: AnswerTask; samples: number },
  options: SelectionOptions,
  enough = Number.POSITIVE_INFINITY,
): Promise<number> {
  let right = 0;
  let sample = 0;
  for (; sample < ask.samples && right < enough; sample++) {
    const answer = await ask.answer(task, sample, options.signal);
    const grade = await options.grade(task, answer, { signal: options.signal });
    if (grade.correct) right++;
  }
  return right / sample;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
