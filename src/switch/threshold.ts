/**
 * From which score on the model may answer (Learn-then-Test with a fixed sequence, arXiv 2110.01052). Thresholds are tried
 * from "everything goes to the team" down to "nothing does"; each is tested on the calibration tasks at the whole level,
 * until the first that the tasks can't support. The grid, the test and the bets are fixed on other tasks before.
 */
import { type Bets, belowPValue, binomialTail, informedBets, type LossCounts } from "./betting.ts";

/** One task, as both answered it; a score of -Infinity always goes to the team. */
export interface Scored {
  score: number;
  /** Whether the model was right, or agrees with the team where nothing better is known. */
  model: boolean;
  /** Whether the team was right. */
  team: boolean;
}

/** At most so many points (0.01 is one) below the team, with this confidence. */
export interface Promised {
  maxLoss: number;
  confidence: number;
}

/** `harm` counts only what the model lost: for teams that are hardly ever wrong. `net` counts what it gained too. */
export type TestKind = "harm" | "net";

/** What is fixed before the calibration tasks are looked at. */
export interface Plan {
  test: TestKind;
  /** From the surest score down, each with the bets of its test. */
  grid: readonly { threshold: number; bets: Bets }[];
}

/** Losses of the cascade at a threshold. */
export function lossesAt(rows: readonly Scored[], threshold: number): LossCounts {
  const counts = { harms: 0, gains: 0, ties: 0 };
  for (const { score, model, team } of rows) {
    if (score < threshold || model === team) counts.ties++;
    else if (team) counts.harms++;
    else counts.gains++;
  }
  return counts;
}

/** The p-value of "at this threshold the cascade loses more than promised". */
export function promisePValue(counts: LossCounts, maxLoss: number, test: TestKind, bets?: Bets): number {
  const n = counts.harms + counts.gains + counts.ties;
  return test === "harm" ? binomialTail(counts.harms, n, maxLoss) : belowPValue(counts, maxLoss, bets);
}

const gridSize = 100;

/** Fixes grid, bets and test on the tasks of the fit; `n` is how many calibration tasks there will be. */
export function planTest(fit: readonly Scored[], { maxLoss, confidence }: Promised, n: number): Plan {
  const scores = fit.map(({ score }) => score).filter(Number.isFinite).sort((a, b) => b - a); // biome-ignore format: one line
  const at = (share: number) => scores[Math.min(scores.length - 1, Math.floor(share * scores.length))]!;
  const thresholds = scores.length === 0 ? [] : Array.from({ length: gridSize }, (_, i) => at((i + 1) / gridSize));
  const distinct = [...new Set(thresholds)];
  const grid = distinct.map((threshold) => {
    const counts = lossesAt(fit, threshold);
    return { threshold, counts, bets: informedBets(counts, maxLoss) };
  });
  const reach = (test: TestKind) =>
    grid.findIndex(({ counts, bets }) => promisePValue(scaled(counts, n), maxLoss, test, bets) > 1 - confidence);
  const steps = (test: TestKind) => (reach(test) === -1 ? grid.length : reach(test));
  const test = steps("net") > steps("harm") ? "net" : "harm";
  return { test, grid: grid.map(({ threshold, bets }) => ({ threshold, bets })) };
}

/** The same rates among another number of tasks. */
function scaled(counts: LossCounts, n: number): LossCounts {
  const of = counts.harms + counts.gains + counts.ties;
  const harms = Math.round(((counts.harms + 0.5) / (of + 1)) * n);
  const gains = Math.round((counts.gains / (of + 1)) * n);
  return { harms, gains, ties: Math.max(0, n - harms - gains) };
}

/** The lowest threshold that the calibration tasks support; null where they support none. */
export function chooseThreshold(calibration: readonly Scored[], plan: Plan, promised: Promised): number | null {
  let chosen: number | null = null;
  for (const { threshold, bets } of plan.grid) {
    const p = promisePValue(lossesAt(calibration, threshold), promised.maxLoss, plan.test, bets);
    if (p > 1 - promised.confidence) break;
    chosen = threshold;
  }
  return chosen;
}

/**
 * About how many calibration tasks it takes until the first threshold passes, at the rates that all tasks so far show there;
 * null where no number would do, because even the surest answers lose more than is promised.
 */
export function tasksNeeded(rows: readonly Scored[], plan: Plan, { maxLoss, confidence }: Promised): number | null {
  const first = plan.grid[0];
  const fewest = Math.ceil(Math.log(1 - confidence) / Math.log1p(-maxLoss));
  if (!first || rows.length === 0) return fewest;
  const { harms, gains, ties } = lossesAt(rows, first.threshold);
  const of = harms + gains + ties;
  for (let n = fewest; n < 200_000; n = Math.ceil(n * 1.03)) {
    const [lost, won] = [Math.ceil((harms / of) * n), Math.floor((gains / of) * n)];
    const counts = { harms: lost, gains: won, ties: Math.max(0, n - lost - won) };
    if (promisePValue(counts, maxLoss, plan.test, first.bets) <= 1 - confidence) return n;
  }
  return null;
}
