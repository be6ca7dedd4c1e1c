/**
 * From failed rollouts to corrected chains: a corrector names the first wrong step of each and what should be there,
 * and that step alone becomes the target. What comes before it was written by the student, ids as sampled: it learns
 * what to do in states that it reaches itself.
 */
import { inParallel } from "../base/work/limiter.ts";
import { messageOf } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import { contextVersions, type Segment, type Trajectory } from "../core/trajectory.ts";
import type { Usage } from "../core/usage.ts";
import { trajectoryToExample } from "../dataset/trajectory-to-example.ts";
import type { ExtraLoss } from "./extra-loss.ts";

/** Questions to a corrector at the same time. */
const atOnce = 8;

/**
 * Imitates what the corrector puts in place of the first wrong step. It is asked about every rollout that was graded wrong, or about
 * all where it wants them; about at most `limit` in a step. Figures say how many it corrected and why not the others.
 */
export function corrections(
  corrector: Corrector,
  { coefficient = 1, limit }: { coefficient?: number; limit?: number } = {},
): ExtraLoss {
  return {
    name: `corrections of ${corrector.name}`,
    coefficient,
    keepsAll: true,
    async beforeUpdates({ groups, tokenizer, maxContext, signal }) {
      const wanted = groups
        .flatMap((group) => group.rollouts)
        .filter(({ correct }) => corrector.asks === "all" || correct === false)
        .slice(0, limit);
      const outcomes = await inParallel(wanted, atOnce, async ({ task, trajectory, correct }) => {
        const answer = await corrector.correct(task, trajectory, { correct, signal }).catch((error: unknown) => {
          signal?.throwIfAborted();
          return { correction: null, reason: messageOf(error) };
        });
        if (!answer.correction) return answer.reason;
        const { from, segments } = answer.correction;
        const { example } = trajectoryToExample(correctedChain(trajectory, from, segments), tokenizer, {
          maxTokens: maxContext,
          endOfTurn: false,
          weightOf: (_, index) => (index >= from ? 1 : 0),
        });
        return example ?? "longer than the context";
      });
      const examples = outcomes.filter((outcome) => typeof outcome !== "string");
      const figures: Record<string, number> = { asked: wanted.length, corrected: examples.length };
      for (const reason of outcomes.filter((outcome) => typeof outcome === "string"))
        figures[`not corrected: ${reason}`] = (figures[`not corrected: ${reason}`] ?? 0) + 1;
      return { examples, figures };
    },
  };
}

/** The student's chain up to the wrong step, as the student saw it there, and the correction. */
function correctedChain(trajectory: Trajectory, from: number, segments: Trajectory["segments"]): Trajectory {
  const seen = contextVersions(trajectory)
    .findLast((version) => version.from <= from)!
    .segments.slice(0, from);
  const { compactions: _, ...chain } = trajectory;
  return { ...chain, segments: [...seen, ...segments] };
}

/**
 * A corrector takes over a chain that went wrong: given what was written so far, it finds the first wrong step and says
 * how a better system (the team, a stronger model) continues from there. On-policy distillation trains on its answer.
 */
export interface Correction {
  /** Index of the first segment that is replaced; everything before it stays as the student wrote it. */
  from: number;
  segments: Segment[];
  usage: Usage;
}

export interface Corrector {
  readonly name: string;
  /** Which rollouts it is asked about: those that were graded wrong (default), or all. */
  readonly asks?: "wrong" | "all";
  /** null: nothing to correct, or a state that it can't continue (`reason` says which). */
  correct(
    task: Task,
    trajectory: Trajectory,
    options?: {
      /** Whether the chain's answer was graded right, if a grader could decide. */
      correct?: boolean | null;
      signal?: AbortSignal;
    },
  ): Promise<{ correction: Correction } | { correction: null; reason: string }>;
}
