/**
 * Whether a candidate takes the live model's place: it must not be worse on the exam (paired, within a stated margin, and it is
 * stated how often an equally good one would pass), and cheaper under the same promise on the same fresh traffic, than the live
 * model and than the old system alone.
 */
import { seededRandom } from "../base/work/random.ts";
import { count, decimal, percent } from "../report/format-figures.ts";
import { htmlPage, htmlTable } from "../report/page.ts";
import { type LossCounts, lossInterval } from "./betting.ts";
import { cascadeCurve, cascadeSentence } from "./cascade-report.ts";
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

/** The page of a round: what came in, what was learned, what changed, what it cost and when it pays. */
export function roundHtml(
  facts: RoundFacts,
  decision: Decision,
  { live, candidate }: Pick<RoundInput, "live" | "candidate">,
): string {
  const { exam, tokens } = decision;
  const saved = tokens.candidate === null ? 0 : (tokens.live ?? tokens.old!) - tokens.candidate;
  const pays = saved > 0 ? ` It saves ${Math.round(saved)} tokens a question: what the audits cost is paid back after ${Math.ceil(facts.auditTokens / saved)} questions.` : ""; // biome-ignore format: one sentence
  const body = [
    `<p><strong>${decision.promote ? "Promoted" : "Not promoted"}</strong>${decision.reasons.map((reason) => `: ${reason}`).join("")}.</p>`,
    "<h2>What came in</h2>",
    htmlTable([["", "requests"], ...Object.entries(facts.counts).map(([name, count]) => [name, String(count)])]),
    `<p>${facts.learned} runs of the old system became demonstrations, beside ${facts.guarded} chains of the live model that it agreed with. Right answers: ${facts.basis}.</p>`,
    "<h2>What changed</h2>",
    htmlTable([
      ["", "live", "candidate"],
      [`exam, ${exam.tasks} tasks`, percent(exam.live), percent(exam.candidate)],
      ["tokens a question under the promise", tokens.live?.toFixed() ?? "–", tokens.candidate?.toFixed() ?? "–"],
    ]),
    `<p>Loss on the exam ${decimal(exam.loss.value * 100, 1)} points [${decimal(exam.loss.low * 100, 1)}, ${decimal(exam.loss.high * 100, 1)}]; an equally good model passes in ${percent(exam.power, 0)} of such exams.</p>`,
    ...[live, candidate].flatMap(({ cascade }) => (cascade ? [`<p>${cascadeSentence(cascade)}.</p>`] : [])),
    ...(candidate.cascade ? [cascadeCurve(candidate.cascade)] : []),
    `<p>The round took ${Math.round(facts.seconds / 60)} minutes; its audits cost the old system ${count(facts.auditTokens)} tokens.${pays}</p>`,
  ];
  return htmlPage(`Round ${facts.number}`, body.join("\n"));
}
