/**
 * What production left for the next round: questions that went to the old system, with its recorded runs, and audited answers
 * that differ. Half of the audited requests, chosen by their ids alone, are kept out of training: on them the next cascade is
 * fitted, so every round has fresh tasks.
 */
import { hashText } from "../base/work/random.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Audited } from "./audit.ts";

export interface Leftovers {
  /** Runs of the old system to learn from, and what it answered, as tasks. */
  runs: TeamRun[];
  tasks: Task[];
  /** Requests for the next cascade, with the old system's answer: a random share of all traffic. */
  fresh: Task[];
  counts: { served: number; escalated: number; differing: number; unrecorded: number; refused: number };
}

interface Left {
  id: string;
  question: string;
  old: string;
  differing: boolean;
}

/** Gathers what is new since the last round. */
export function gatherLeftovers(
  kept: readonly Trajectory[],
  audited: readonly Audited[],
  runs: readonly TeamRun[],
  seen: ReadonlySet<string> = new Set(),
): Leftovers {
  const escalated: Left[] = kept.flatMap(({ id, served, prompt }) => {
    const old = served?.fallback?.answer;
    const question = prompt.findLast(({ role }) => role === "user")?.content;
    return old === undefined || question === undefined ? [] : [{ id, question, old, differing: false }];
  });
  const checked: Left[] = audited.flatMap(({ id, question, old, differs }) =>
    question === undefined || old === undefined ? [] : [{ id, question, old, differing: differs === true }],
  );
  const chosen = new Set(audited.map(({ id }) => id));
  const forFresh = (id: string) => chosen.has(id) && hashText(`fresh\n${id}`) % 2 === 0;
  const fresh: Task[] = [];
  const tasks: Task[] = [];
  const learned: TeamRun[] = [];
  const byQuestion = new Map(runs.map((run) => [run.question, run]));
  const counts = { served: kept.length, escalated: escalated.length, differing: 0, unrecorded: 0, refused: 0 };
  const taken = new Set(seen);
  for (const { id, question, old, differing } of [...escalated, ...checked]) {
    if (taken.has(id)) continue;
    taken.add(id);
    if (differing) counts.differing++;
    const task = defineTask({ id, question, answers: [old], rightness: "assumed" });
    if (forFresh(id)) {
      fresh.push(task);
      continue;
    }
    // An audited answer that both agree on has nothing to teach.
    if (chosen.has(id) && !differing && !escalated.some((one) => one.id === id)) continue;
    const run = byQuestion.get(question);
    if (!run) counts.unrecorded++;
    else if (run.answer === null || run.feedback?.some(({ score }) => score < 0.5)) counts.refused++;
    else {
      tasks.push(task);
      learned.push({ ...run, id: `${run.id}-${id}`, taskId: id });
    }
  }
  return { runs: learned, tasks, fresh, counts };
}
