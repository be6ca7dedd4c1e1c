/**
 * Whether a candidate takes the live model's place: it must not be worse on the exam (paired, within a stated margin, and it is
 * stated how often an equally good one would pass), and cheaper under the same promise on the same fresh traffic.
 */
import { seededRandom } from "../base/work/random.ts";
import { decimal, percent } from "../report/format-figures.ts";
import { htmlPage, htmlTable } from "../report/page.ts";
import { type LossCounts, lossInterval } from "./betting.ts";
import { cascadeCurve, cascadeSentence } from "./cascade-report.ts";
import type { FitResult } from "./fit-cascade.ts";

export interface RoundInput {
  /** The same tasks of the exam, right or not. */
  exam: { live: readonly boolean[]; candidate: readonly boolean[] };
  /** Largest loss on the exam that counts as "not worse". */
  margin: number;
  live: FitResult;
  candidate: FitResult;
}

export interface Decision {
  promote: boolean;
  reasons: string[];
  exam: { tasks: number; live: number; candidate: number; loss: { value: number; low: number; high: number }; power: number };
  tokens: { live: number | null; candidate: number | null };
} // biome-ignore format: one exam

/** Compares and decides. */
export function decideRound({ exam, margin, live, candidate }: RoundInput): Decision {
  const counts: LossCounts = { harms: 0, gains: 0, ties: 0 };
  for (const [at, right] of exam.live.entries())
    counts[right === exam.candidate[at] ? "ties" : right ? "harms" : "gains"]++;
  const loss = lossInterval(counts, 0.9); // one-sided 95 %
  const tasks = exam.live.length;
  const power = powerOf(counts, margin);
  const tokensOf = ({ cascade }: FitResult) => cascade?.figures.cost.cascade.billedTokens ?? null;
  const tokens = { live: tokensOf(live), candidate: tokensOf(candidate) };
  const reasons: string[] = [];
  if (loss.high > margin)
    reasons.push(
      `on the exam it may be worse: ${decimal(loss.value * 100, 1)} points lost, with 95 % confidence at most ${decimal(loss.high * 100, 1)}, and ${decimal(margin * 100, 1)} are allowed (an equally good model passes in ${percent(power, 0)} of such exams)`,
    );
  if (candidate.refused !== undefined) reasons.push(`its cascade can't keep the promise: ${candidate.refused}`);
  else if (tokens.live !== null && tokens.candidate! >= tokens.live)
    reasons.push(`it is not cheaper under the same promise: ${Math.round(tokens.candidate!)} tokens a question, the live model ${Math.round(tokens.live)}`); // biome-ignore format: one reason
  const share = (right: readonly boolean[]) => right.filter(Boolean).length / Math.max(1, right.length);
  return {
    promote: reasons.length === 0,
    reasons,
    exam: { tasks, live: share(exam.live), candidate: share(exam.candidate), loss, power },
    tokens,
  };
}

/** How often a model that differs as often, but loses nothing, passes an exam of this size. */
function powerOf({ harms, gains, ties }: LossCounts, margin: number): number {
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
    if (lossInterval(counts, 0.9).high <= margin) passed++;
  }
  return passed / times;
}

export interface RoundFacts {
  number: number;
  basis: string;
  counts: Readonly<Record<string, number>>;
  learned: number;
  seconds: number;
}

/** The page of a round: what came in, what was learned, what changed, what it cost and when it pays. */
export function roundHtml(
  facts: RoundFacts,
  decision: Decision,
  { live, candidate }: Pick<RoundInput, "live" | "candidate">,
): string {
  // biome-ignore format: one signature
  const { exam, tokens } = decision;
  const saved = tokens.live === null || tokens.candidate === null ? undefined : tokens.live - tokens.candidate;
  const body = [
    `<p><strong>${decision.promote ? "Promoted" : "Not promoted"}</strong>${decision.reasons.map((reason) => `: ${reason}`).join("")}.</p>`,
    "<h2>What came in</h2>",
    htmlTable([["", "requests"], ...Object.entries(facts.counts).map(([name, count]) => [name, String(count)])]),
    `<p>${facts.learned} runs of the old system became demonstrations. Right answers: ${facts.basis}.</p>`,
    "<h2>What changed</h2>",
    htmlTable([
      ["", "live", "candidate"],
      [`exam, ${exam.tasks} tasks`, percent(exam.live), percent(exam.candidate)],
      ["tokens a question under the promise", tokens.live?.toFixed() ?? "–", tokens.candidate?.toFixed() ?? "–"],
    ]),
    `<p>Loss on the exam ${decimal(exam.loss.value * 100, 1)} points [${decimal(exam.loss.low * 100, 1)}, ${decimal(exam.loss.high * 100, 1)}]; an equally good model passes in ${percent(exam.power, 0)} of such exams.</p>`,
    ...[live, candidate].flatMap(({ cascade }) => (cascade ? [`<p>${cascadeSentence(cascade)}.</p>`] : [])),
    ...(candidate.cascade ? [cascadeCurve(candidate.cascade)] : []),
    `<p>The round took ${Math.round(facts.seconds / 60)} minutes${saved !== undefined && saved > 0 ? ` and saves ${Math.round(saved)} tokens a question from now on` : ""}.</p>`,
  ];
  return htmlPage(`Round ${facts.number}`, body.join("\n"));
}
