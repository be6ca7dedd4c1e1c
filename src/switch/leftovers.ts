/**
 * What production left for the next round: questions that went to the old system, audited answers that differ, and answers that
 * users found wrong, each with the old system's recorded run. Half of the audited questions, chosen by a hash of their words, is
 * never trained on: on them the next cascade is fitted, so every round has fresh tasks. Of the other half, the chains that the old
 * system agreed with guard what the model can do already.
 */
import { hashText } from "../base/work/random.ts";
import type { Annotation, Feedback } from "../core/annotation.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Audited } from "./audit.ts";

/** What production wrote. */
export interface Production {
  kept: readonly Trajectory[];
  audited: readonly Audited[];
  runs: readonly TeamRun[];
  /** What users said about answers. */
  annotations: readonly Annotation[];
  /** The version that is live: chains of another are neither its fresh traffic nor its guard. */
  version?: string;
}

export interface Leftovers {
  /** Runs of the old system to learn from, and what it answered, or a user's correction, as tasks. */
  runs: TeamRun[];
  tasks: Task[];
  /** Requests for the next cascade, with the old system's answer: a random share of all traffic; and the live model's chains. */
  fresh: Task[];
  chains: Trajectory[];
  /** Chains of the live model that the old system agreed with, at most as many as there are runs to learn from. */
  guard: Trajectory[];
  counts: Record<"served" | "escalated" | "audited" | "differing" | "disliked" | "unrecorded" | "refused", number>;
}

/** Gathers what is new since the last round. */
export function gatherLeftovers(production: Production, seen: ReadonlySet<string> = new Set()): Leftovers {
  const { kept, runs } = production;
  const opinions = new Map(production.annotations.flatMap(({ target, feedback }) => (feedback ? [[target.id, feedback] as const] : []))); // biome-ignore format: one map
  const audits = new Map(production.audited.map((one) => [one.id, one]));
  const runsOf = Map.groupBy(runs, ({ question }) => question);
  const counts: Leftovers["counts"] = { served: 0, escalated: 0, audited: 0, differing: 0, disliked: 0, unrecorded: 0, refused: 0 }; // biome-ignore format: one line
  const left: Leftovers = { runs: [], tasks: [], fresh: [], chains: [], guard: [], counts };
  for (const chain of kept) {
    const { id, served } = chain;
    const question = chain.prompt.findLast(({ role }) => role === "user")?.content;
    if (seen.has(id) || question === undefined) continue;
    const [audit, opinion, asked = []] = [audits.get(id), opinions.get(id), runsOf.get(question)];
    const escalated = served?.fallback?.answer !== undefined;
    const old = served?.fallback?.answer ?? audit?.old;
    // The same question may have been asked before, when the answer was another.
    const run = asked.findLast(({ answer }) => answer === old) ?? asked.at(-1);
    const disliked = isBad(opinion);
    counts.served++;
    for (const [name, holds] of Object.entries({ escalated, audited: audit, differing: audit?.differs, disliked }))
      if (holds) counts[name as keyof typeof counts]++;
    const own = served?.version === undefined || served.version === production.version;
    if (audit && old !== undefined && hashText(`fresh\n${question}`) % 2 === 0) {
      if (!own) continue;
      left.fresh.push(defineTask({ id, question, answers: [old], rightness: "assumed" }));
      left.chains.push(chain);
    } else if (escalated || audit?.differs || disliked) {
      // What a user found wrong was the old system's answer where that was asked: nothing of it is right to learn.
      const wrong = escalated && disliked && opinion?.correction === undefined;
      if (!run) counts.unrecorded++;
      else if (wrong || run.answer === null || run.feedback?.some(({ score }) => score < 0.5)) counts.refused++;
      else {
        // A correction is a right answer that the run is graded by, as any other.
        const answers = opinion?.correction === undefined ? { answers: [run.answer], rightness: "assumed" as const } : { answers: [opinion.correction] }; // biome-ignore format: one choice
        left.tasks.push(defineTask({ id, question, ...answers }));
        left.runs.push({ ...run, id: `${run.id}-${id}`, taskId: id });
      }
    } else if (own && (audit?.differs === false || (opinion?.score ?? 0) > 0.5)) left.guard.push(chain);
  }
  left.guard = left.guard.toSorted((a, b) => hashText(a.id) - hashText(b.id)).slice(0, left.runs.length);
  return left;
}

const isBad = (opinion: Feedback | undefined) =>
  opinion !== undefined && (opinion.correction !== undefined || (opinion.score ?? 1) < 0.5);
