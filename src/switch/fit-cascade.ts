/**
 * Fits a cascade: the score on one part of the tasks, the threshold on the other. The first part also fixes everything that
 * the test needs (grid, bets, which test), so that the second is looked at once.
 */
import { hashText, seededRandom } from "../base/work/random.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { shareEstimate } from "../evaluate/statistics.ts";
import { lossInterval } from "./betting.ts";
import type { Cascade, GroupLoss, MeanCost } from "./cascade.ts";
import { featureNames } from "./features.ts";
import { areaUnderCurve, fitLogistic, logOdds } from "./logistic.ts";
import type { Pair } from "./pairs.ts";
import {
  chooseThreshold,
  lossesAt,
  type Plan,
  type Promised,
  planTest,
  type Scored,
  tasksNeeded,
} from "./threshold.ts";

export interface FitOptions extends Promised {
  basis: Cascade["basis"];
  model: string;
  temperature: number;
  /** The part of the level (1 - confidence) that is left for this fit; all of it by default. */
  level?: number;
}

/** A cascade, or why there can be none. */
export type FitResult =
  | { cascade: Cascade; refused?: undefined }
  | { cascade?: undefined; refused: string; moreTasks: number | null; auc: number | null };

/** Fits score and threshold, or refuses with the number of tasks that it would take. */
export function fitCascade(pairs: readonly Pair[], options: FitOptions): FitResult {
  const { maxLoss, level = 1 } = options;
  const confidence = 1 - (1 - options.confidence) * level;
  const { fit, calibration } = splitPairs(pairs);
  const promised = { maxLoss, confidence };
  const prepared = prepareScore(fit, promised, calibration.length);
  const scored = scoreAll(calibration, prepared.score);
  const threshold = chooseThreshold(scored, prepared.plan, promised);
  const auc = areaUnderCurve(scored.map(({ score, model }) => ({ score, right: model })));
  if (threshold === null) return refusal([...scoreAll(fit, prepared.score), ...scored], prepared.plan, promised, { calibration: calibration.length, all: pairs.length, auc }); // biome-ignore format: one call
  const { score, plan } = prepared;
  return {
    cascade: {
      version: 2,
      promise: { maxLoss, confidence: options.confidence },
      basis: options.basis,
      temperature: options.temperature,
      model: options.model,
      score,
      threshold,
      test: plan.test,
      figures: {
        fitTasks: fit.length,
        calibrationTasks: calibration.length,
        auc,
        ...figuresAt(calibration, scored, threshold),
        curve: plan.grid.map(({ threshold: at }) => {
          const { success, cost, all } = figuresAt(calibration, scored, at);
          return { threshold: at, escalated: all.escalated, success: success.cascade, billedTokens: cost.cascade.billedTokens, loss: all.loss.value }; // biome-ignore format: one point
        }),
      },
      calibration: { tasks: namesOf(calibration), level },
    },
  };
}

const namesOf = (pairs: readonly Pair[]) =>
  fingerprint(
    pairs
      .map(({ taskId }) => taskId)
      .sort()
      .join("\n"),
  );

function refusal(
  rows: readonly Scored[],
  plan: Plan,
  promised: Promised,
  tasks: { calibration: number; all: number; auc: number | null },
): FitResult {
  const needed = tasksNeeded(rows, plan, promised);
  const points = `${(promised.maxLoss * 100).toFixed(1)} points`;
  if (needed === null)
    return {
      refused: `even the answers that the model is surest of lose more than ${points}: no number of tasks would support this promise`,
      moreTasks: null,
      auc: tasks.auc,
    };
  const more = Math.max(
    10,
    Math.ceil(((needed - tasks.calibration) * tasks.all) / Math.max(1, tasks.calibration) / 10) * 10,
  );
  return {
    refused: `${tasks.all} tasks do not support a promise of ${points}: it needs about ${more} more graded tasks`,
    moreTasks: more,
    auc: tasks.auc,
  };
}

/** Share of the tasks that the score is fitted on. */
const fitShare = 0.4;

/** Two parts without a task, world or document in common; where one group holds most of the tasks, they are split one by one. */
export function splitPairs(pairs: readonly Pair[]): { fit: Pair[]; calibration: Pair[] } {
  const groups = [...Map.groupBy(pairs, ({ group }) => group)].map(([name, members]) => ({ name, members }));
  const whole = groups.length > 1 && Math.max(...groups.map(({ members }) => members.length)) <= 0.5 * pairs.length;
  const units = whole ? groups : pairs.map((pair) => ({ name: pair.taskId, members: [pair] }));
  const order = units.toSorted((a, b) => hashText(`1\n${a.name}`) - hashText(`1\n${b.name}`));
  const fit: Pair[] = [];
  const calibration: Pair[] = [];
  for (const { members } of order) {
    const inFit = fit.length + members.length / 2 <= fitShare * pairs.length;
    (inFit ? fit : calibration).push(...members);
  }
  return { fit, calibration };
}

interface Prepared {
  score: Cascade["score"];
  plan: Plan;
}

/** The score, and everything that is fixed before the `n` calibration tasks are looked at, from the tasks of the fit alone. */
export function prepareScore(fit: readonly Pair[], promised: Promised, n: number): Prepared {
  const score = fitLogistic(fit.map(({ features, model }) => ({ features, right: model })), featureNames); // biome-ignore format: one model
  // Scores of rows that a model has seen are too good: those that plan the test come from models of the other rows.
  return { score, plan: planTest(crossScores(fit), promised, n) };
}

const folds = 5;

function crossScores(fit: readonly Pair[]): Scored[] {
  const order = seededRandom("folds", fit.length).shuffle(fit.map((_, at) => at));
  const foldOf = new Map(order.map((row, place) => [row, place % folds]));
  const models = Array.from(
    { length: folds },
    (_, fold) =>
    fitLogistic(fit.filter((_, at) => foldOf.get(at) !== fold).map(({ features, model }) => ({ features, right: model })), featureNames), // biome-ignore format: one model
  );
  return fit.map((pair, at) => {
    const score = pair.answered ? logOdds(models[foldOf.get(at)!]!, pair.features) : Number.NEGATIVE_INFINITY;
    return { score, model: pair.model, team: pair.team };
  });
}

/** The tasks with the scores of a model of them. */
export function scoreAll(pairs: readonly Pair[], model: Cascade["score"]): Scored[] {
  return pairs.map((pair) => ({ score: pair.answered ? logOdds(model, pair.features) : Number.NEGATIVE_INFINITY, model: pair.model, team: pair.team })); // biome-ignore format: one row
}

/** What a cascade does with tasks at a threshold: success, cost, losses by family and kind. */
export function figuresAt(
  pairs: readonly Pair[],
  scored: readonly Scored[],
  threshold: number,
): Pick<Cascade["figures"], "success" | "cost" | "all" | "families" | "kinds"> {
  const rows = pairs.map((pair, at) => ({ pair, scored: scored[at]!, asked: scored[at]!.score < threshold }));
  type Row = (typeof rows)[number];
  const group = (members: readonly Row[]): GroupLoss => ({
    tasks: members.length,
    escalated: share(members, ({ asked }) => asked),
    loss: lossInterval(lossesAt(members.map((row) => row.scored), threshold)), // biome-ignore format: one line
    differs: shareEstimate(members.filter(({ asked, pair }) => !asked && !pair.agrees).length, members.length),
  });
  const groups = (name: (pair: Pair) => string) =>
    Object.fromEntries([...Map.groupBy(rows, ({ pair }) => name(pair))].sort(([a], [b]) => a.localeCompare(b)).map(([key, members]) => [key, group(members)])); // biome-ignore format: one table
  return {
    success: {
      model: share(pairs, ({ model }) => model),
      team: share(pairs, ({ team }) => team),
      cascade: share(rows, ({ asked, pair }) => (asked ? pair.team : pair.model)),
    },
    cost: {
      model: meanCost(pairs.map(({ modelCost }) => modelCost)),
      team: meanCost(pairs.map(({ teamCost }) => teamCost)),
      cascade: meanCost(rows.map(({ asked, pair }) => cascadeCost(pair, asked))),
    },
    all: group(rows),
    families: groups(({ family }) => family ?? "all"),
    kinds: groups(({ kind }) => kind),
  };
}

/** The model's part, and the team's where it was asked. */
function cascadeCost({ modelCost, teamCost }: Pair, asked: boolean): MeanCost {
  const sum = (key: keyof MeanCost) => modelCost[key] + (asked ? teamCost[key] : 0);
  return { billedTokens: sum("billedTokens"), computedTokens: sum("computedTokens"), costUsd: sum("costUsd") };
}

function meanCost(costs: readonly MeanCost[]): MeanCost {
  const mean = (key: keyof MeanCost) => costs.reduce((sum, cost) => sum + cost[key], 0) / Math.max(1, costs.length);
  return { billedTokens: mean("billedTokens"), computedTokens: mean("computedTokens"), costUsd: mean("costUsd") };
}

function share<T>(items: readonly T[], holds: (item: T) => boolean): number {
  return items.length === 0 ? 0 : items.filter(holds).length / items.length;
}
