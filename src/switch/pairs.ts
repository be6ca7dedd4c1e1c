/** The same tasks, answered by the model and by the team: what a cascade is fitted on. */
import { join } from "node:path";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { CoaError } from "../core/errors.ts";
import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Usage } from "../core/usage.ts";
import { recordedSystem } from "../evaluate/define-system.ts";
import type { StoredEvaluation } from "../evaluate/read-evaluation.ts";
import type { MeanCost } from "./cascade.ts";
import { chainFeatures, kindOf } from "./features.ts";
import type { Features } from "./logistic.ts";

/** One task as both answered it. */
export interface Pair {
  taskId: string;
  /** Tasks that share a world or documents: one of them in the fit and one in the calibration would leak. */
  group: string;
  family?: string;
  kind: string;
  features: Features;
  answered: boolean;
  /** Whether the model was right, or agrees with the team where no right answer is known. */
  model: boolean;
  team: boolean;
  /** Whether both answers say the same. */
  agrees: boolean;
  modelCost: MeanCost;
  teamCost: MeanCost;
}

export interface Pairs {
  basis: "graded" | "agreement";
  pairs: Pair[];
  /** Tasks of the model that the team has no answer to. */
  unpaired: number;
}

/** What the team did: an evaluation of it, or its recorded runs. */
export type TeamAnswers =
  | { kind: "evaluation"; evaluation: StoredEvaluation }
  | { kind: "runs"; runs: readonly TeamRun[] };

interface Answered {
  answer: string | null;
  correct: boolean | null;
  usage: Usage;
}

/** Joins an evaluation of the model with what the team did, task by task. */
export async function readPairs(evaluation: StoredEvaluation, team: TeamAnswers, grader: Grader): Promise<Pairs> {
  const chains = await readChains(evaluation);
  const teamOf = await teamAnswers(evaluation.tasks, team, grader);
  const records = new Map(evaluation.records.filter(({ sample }) => sample === 0).map((one) => [one.taskId, one]));
  const joined = evaluation.tasks.flatMap((task) => {
    const [record, other] = [records.get(task.id), teamOf.get(task.id)];
    const chain = record?.run && chains.get(record.run.id);
    return record && chain && other ? [{ task, record, chain, other }] : [];
  });
  const graded = joined.every(({ record, other }) => record.grade.correct !== null && other.correct !== null);
  const pairs: Pair[] = [];
  for (const { task, record, chain, other } of joined) {
    const pair = await agreementPair(task, chain, other, grader);
    const right = { model: record.grade.correct === true, team: other.correct === true };
    pairs.push({ ...pair, ...(graded && right), modelCost: costOf(record.usage) });
  }
  return { basis: graded ? "graded" : "agreement", pairs, unpaired: records.size - pairs.length };
}

/** A chain beside the team's answer, where what counts is whether both say the same. */
export async function agreementPair(
  task: Task,
  chain: Trajectory,
  team: Pick<Answered, "answer" | "usage">,
  grader: Grader,
): Promise<Pair> {
  const profile = chain.language?.profile;
  if (!profile) throw new CoaError("storage", `chain ${chain.id} does not say in which language it is written`);
  const agrees = await saysTheSame(task, chain.answer, team.answer, grader);
  return {
    taskId: task.id,
    group: task.world
      ? `world ${task.world.seed}.${task.world.variant}`
      : (task.documents?.[0] ?? task.session ?? task.id),
    ...(task.family !== undefined && { family: task.family }),
    kind: kindOf(chain),
    features: chainFeatures(profile, chain),
    answered: chain.answer !== null && chain.answer.trim() !== "",
    model: agrees,
    team: true,
    agrees,
    modelCost: costOf(chain.usage),
    teamCost: costOf(team.usage),
  };
}

/** The chains that an evaluation kept, by id. */
export async function readChains({ folder }: Pick<StoredEvaluation, "folder">): Promise<Map<string, Trajectory>> {
  const chains = new Map<string, Trajectory>();
  for await (const { value } of readJsonl<{ value: Trajectory }>(join(folder, "runs.jsonl")))
    if (Array.isArray(value.segments)) chains.set(value.id, value);
  return chains;
}

async function teamAnswers(tasks: readonly Task[], team: TeamAnswers, grader: Grader): Promise<Map<string, Answered>> {
  if (team.kind === "evaluation") {
    const first = team.evaluation.records.filter(({ sample }) => sample === 0);
    return new Map(
      first.map(({ taskId, answer, grade, usage }) => [taskId, { answer, correct: grade.correct, usage }]),
    );
  }
  const recorded = recordedSystem(team.runs);
  const answers = tasks.map(async (task) => {
    const run = await recorded.run(task, { sample: 0, seed: 0 }).catch(() => undefined);
    return run ? ([[task.id, { ...run, correct: (await grader(task, run.answer)).correct }]] as const) : [];
  });
  return new Map((await Promise.all(answers)).flat());
}

/** Whether two answers to a task say the same, by the rule that grades it. */
async function saysTheSame(task: Task, answer: string | null, other: string | null, grader: Grader): Promise<boolean> {
  if (answer === null || other === null) return answer === other;
  if (answer.trim() === other.trim()) return true;
  if (task.kind === "code") return false;
  return (await grader({ ...task, answers: [other] }, answer)).correct === true;
}

function costOf({ billedTokens, computedTokens, costUsd }: Usage): MeanCost {
  return { billedTokens, computedTokens, costUsd };
}
