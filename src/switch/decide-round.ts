/**
 * Whether a candidate takes the live model's place: it must not be worse on the exam (paired, within a stated margin, and it is
 * stated how often an equally good one would pass), and cheaper under the same promise on the same fresh traffic, than the live
 * model and than the old system alone.
 */
import { seededRandom } from "../base/work/random.ts";
import { decimal, percent } from "../report/format-figures.ts";
import { type LossCounts, lossInterval } from "./betting.ts";
import type { FitResult } from "./fit-cascade.ts";

export interface RoundInput {
  /** The same tasks of the exam, right or not. */
  exam: { live: readonly boolean[]; candidate: readonly boolean[] };
  /** Largest loss on the exam that counts as "not worse". */
  margin: number;
  /** Rounds before this one were tested on the same exam: this part of the level is left. */
  level: number;
  live: FitResult;
  candidate: FitResult;
}

export interface Decision {
  promote: boolean;
  reasons: string[];
  exam: { tasks: number; live: number; candidate: number; loss: { value: number; low: number; high: number }; power: number };
  tokens: { live: number | null; candidate: number | null; old: number | null };
} // biome-ignore format: one exam

/** Compares and decides. */
export function decideRound({ exam, margin, level, live, candidate }: RoundInput): Decision {
  const counts: LossCounts = { harms: 0, gains: 0, ties: 0 };
  for (const [at, right] of exam.live.entries())
    counts[right === exam.candidate[at] ? "ties" : right ? "harms" : "gains"]++;
  const confidence = 1 - 0.1 * level; // one-sided 95 % over all rounds
  const loss = lossInterval(counts, confidence);
  const tasks = exam.live.length;
  const power = powerOf(counts, margin, confidence);
  const tokensOf = ({ cascade }: FitResult) => cascade?.figures.cost.cascade.billedTokens ?? null;
  const old = candidate.cascade?.figures.cost.team.billedTokens ?? null;
  const tokens = { live: tokensOf(live), candidate: tokensOf(candidate), old };
  const reasons: string[] = [];
  if (loss.high > margin)
    reasons.push(
      `on the exam it may be worse: ${decimal(loss.value * 100, 1)} points lost, with ${percent(1 - 0.05 * level)} confidence at most ${decimal(loss.high * 100, 1)}, and ${decimal(margin * 100, 1)} are allowed (an equally good model passes in ${percent(power, 0)} of such exams)`,
    );
  if (candidate.refused !== undefined) reasons.push(`its cascade can't keep the promise: ${candidate.refused}`);
  else if (tokens.live !== null && tokens.candidate! >= tokens.live)
    reasons.push(`it is not cheaper under the same promise: ${Math.round(tokens.candidate!)} tokens a question, the live model ${Math.round(tokens.live)}`); // biome-ignore format: one reason
  // Where hardly any answer may be given, which of two thresholds is lower is chance: that saves nothing.
  if (tokens.candidate !== null && tokens.candidate >= old!)
    reasons.push(`it saves nothing: ${Math.round(tokens.candidate)} tokens a question under the promise, the old system alone ${Math.round(old!)}`); // biome-ignore format: one reason
  const share = (right: readonly boolean[]) => right.filter(Boolean).length / Math.max(1, right.length);
  return {
    promote: reasons.length === 0,
    reasons,
    exam: { tasks, live: share(exam.live), candidate: share(exam.candidate), loss, power },
    tokens,
  };
}

/** How often a model that differs as often, but loses nothing, passes an exam of this size. */
function powerOf({ harms, gains, ties }: LossCounts, margin: number, confidence: number): number {
  const n = harms + gains + ties;
  const each = Math.max(1, harms + gains) / n / 2;
  const random = seededRandom("power", n, harms + gains);
  let passed = 0;
  const times = 200;
  for (let draw = 0; draw < times; draw++) {
    const counts = { harms: 0, gains: 0, ties: 0 };
    for (let task = 0; task < n; task++) {
      const at = random.next();
      counts[at < each ? "harms" : at < 2 * each ? "gains" : "ties"]++;
    }
    if (lossInterval(counts, confidence).high <= margin) passed++;
  }
  return passed / times;
}

/** What came in, what was learned, what it cost. */
export interface RoundFacts {
  number: number;
  basis: string;
  counts: Readonly<Record<string, number>>;
  learned: number;
  /** Chains of the live model that guard what it can do already. */
  guarded: number;
  seconds: number;
  /** What the audits of the round cost the old system, in tokens. */
  auditTokens: number;
}
