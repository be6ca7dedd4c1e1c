/**
 * What a rollout earns. The outcome decides: a grader says right or wrong. A format factor may multiply it (the paper's
 * code reward), and an overlong penalty may be added (DAPO's soft punishment). A grader that can't decide is no verdict:
 * it is asked again, and if it still can't the rollout leaves its group.
 */
import type { Grader } from "../core/grader.ts";
import type { Profile } from "../core/profile.ts";
import type { Reward } from "../core/reward.ts";
import { validateSegments } from "../language/validate.ts";

export interface RewardOptions {
  /** Multiply by 0 where the chain breaks its profile's rules. */
  format?: Profile;
  /** Longest response in tokens; from 7/8 of it on a penalty grows linearly to -1. */
  overlongTokens?: number;
  /** Attempts of a grader that can't decide. */
  attempts?: number;
}

/** Right 1, wrong 0, with the factors of `options`. */
export function outcomeReward(grade: Grader, options: RewardOptions = {}): Reward {
  return async (trajectory, task, signal) => {
    let verdict = await grade(task, trajectory.answer, { signal });
    for (let attempt = 1; verdict.correct === null && attempt < (options.attempts ?? 3); attempt++) {
      verdict = await grade(task, trajectory.answer, { signal });
    }
    if (verdict.correct === null) return { reward: null, correct: null, reason: verdict.reason };
    let reward = verdict.correct ? 1 : 0;
    if (options.format && validateSegments(options.format, trajectory.segments).length > 0) reward = 0;
    if (options.overlongTokens) reward += overlongPenalty(trajectory.usage.completionTokens, options.overlongTokens);
    return { reward, correct: verdict.correct, reason: verdict.reason };
  };
}

/** 0 up to 7/8 of the limit, then falling linearly to -1 at the limit and below it beyond. */
export function overlongPenalty(tokens: number, limit: number): number {
  const threshold = Math.floor((7 / 8) * limit);
  return tokens <= threshold ? 0 : -(tokens - threshold) / (limit - threshold);
}
