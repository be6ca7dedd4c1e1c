/**
 * From failed rollouts to corrected chains: a corrector names the first wrong step of each and what should be there,
 * and that step alone becomes the target. What comes before it was written by the student, ids as sampled: it learns
 * what to do in states that it reaches itself.
 */

import { inParallel } from "../base/work/limiter.ts";
import type { Example } from "../core/engine.ts";
import { messageOf } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { contextVersions, type Trajectory } from "../core/trajectory.ts";
import { trajectoryToExample } from "../dataset/trajectory-to-example.ts";
import type { Corrector } from "./corrector.ts";
import type { ExtraLoss } from "./extra-loss.ts";
import type { Rollout } from "./run-rollout.ts";

/** Imitates what the corrector puts in place of the first wrong step of failed rollouts; asks about at most `limit` in a step. */
export function corrections(
  corrector: Corrector,
  { coefficient = 1, limit }: { coefficient?: number; limit?: number } = {},
): ExtraLoss {
  return {
    name: `corrections of ${corrector.name}`,
    coefficient,
    keepsAll: true,
    async beforeUpdates({ groups, ...how }) {
      const rollouts = groups.flatMap((group) => group.rollouts);
      const { examples, asked, refused } = await correctRollouts(rollouts, corrector, { ...how, limit });
      const figures: Record<string, number> = { asked, corrected: examples.length };
      for (const [reason, count] of Object.entries(refused)) figures[`not corrected: ${reason}`] = count;
      return { examples, figures };
    },
  };
}

interface Corrections {
  examples: Example[];
  /** Rollouts that the corrector was asked about. */
  asked: number;
  /** How many could not be corrected, by reason. */
  refused: Record<string, number>;
}

/** Questions to a corrector at the same time. */
const correctionsAtOnce = 8;

/** Asks about every rollout that was graded wrong, or about all where the corrector wants them; at most `limit` of them. */
export async function correctRollouts(
  rollouts: readonly Rollout[],
  corrector: Corrector,
  options: { tokenizer: Tokenizer; maxContext: number; limit?: number; signal?: AbortSignal },
): Promise<Corrections> {
  const asked = rollouts.filter(({ correct }) => corrector.asks === "all" || correct === false).slice(0, options.limit);
  const result: Corrections = { examples: [], asked: asked.length, refused: {} };
  const refuse = (reason: string) => {
    result.refused[reason] = (result.refused[reason] ?? 0) + 1;
  };
  const answers = await inParallel(asked, correctionsAtOnce, async ({ task, trajectory, correct }) => {
    try {
      return await corrector.correct(task, trajectory, { correct, signal: options.signal });
    } catch (error) {
      options.signal?.throwIfAborted();
      return { correction: null, reason: messageOf(error) };
    }
  });
  for (const [at, answer] of answers.entries()) {
    if (!answer.correction) {
      refuse(answer.reason);
      continue;
    }
    const { from, segments } = answer.correction;
    const corrected = correctedChain(asked[at]!.trajectory, from, segments);
    const { example } = trajectoryToExample(corrected, options.tokenizer, {
      maxTokens: options.maxContext,
      endOfTurn: false,
      weightOf: (_, index) => (index >= from ? 1 : 0),
    });
    if (example) result.examples.push(example);
    else refuse("longer than the context");
  }
  return result;
}

/** The student's chain up to the wrong step, as the student saw it there, and the correction. */
function correctedChain(trajectory: Trajectory, from: number, segments: Trajectory["segments"]): Trajectory {
  const seen = contextVersions(trajectory)
    .findLast((version) => version.from <= from)!
    .segments.slice(0, from);
  const { compactions: _, ...chain } = trajectory;
  return { ...chain, segments: [...seen, ...segments] };
}
