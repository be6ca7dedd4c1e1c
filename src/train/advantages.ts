/**
 * Group-normalised advantages (GRPO, as DAPO uses it): a rollout is good or bad only in comparison with the other
 * rollouts of the same task. A group without variance teaches nothing and is dropped (dynamic sampling).
 */
import type { Example } from "../core/engine.ts";

/**
 * What a reward is compared with. Any baseline leaves the expected gradient as it is; it decides how noisy the gradient
 * is. `group`: the plain mean of the group, as in DAPO. `least-variance`: the mean in which every rollout weighs by the
 * size of its own gradient. A failed rollout has made a mistake somewhere and then often continues without sense: many
 * unlikely tokens, a huge gradient, little to learn from. With the plain mean such rollouts dominate; with this one, a
 * model that mostly copies learns several times faster.
 */
export type Baseline = "group" | "least-variance";

/**
 * The squared gradient norm of a rollout, estimated from what was sampled: the gradient of a token's log-probability with
 * respect to its own logit is 1 - p. Tokens without advantage were not sampled by the model.
 */
export function gradientWeight({ advantages, oldLogprobs }: Example): number {
  return (
    advantages?.reduce(
      (sum, advantage, at) => (advantage === 0 ? sum : sum + (1 - Math.exp(oldLogprobs?.[at] ?? 0)) ** 2),
      0,
    ) ?? 0
  );
}

/** (reward - baseline) / (std + 1e-6) of one group. */
export function groupAdvantages(rewards: readonly number[], baseline = groupBaseline(rewards)): number[] {
  const { deviation } = moments(rewards);
  return rewards.map((reward) => (reward - baseline) / (deviation + 1e-6));
}

/** What the rewards of a group are compared with: their mean, weighted by `weights` where given. */
export function groupBaseline(rewards: readonly number[], weights?: readonly number[]): number {
  const total = weights?.reduce((sum, weight) => sum + weight, 0) ?? 0;
  if (!weights || total <= 0) return moments(rewards).mean;
  return rewards.reduce((sum, reward, at) => sum + reward * weights[at]!, 0) / total;
}

/** Whether the rewards of a group differ at all. */
export function hasVariance(rewards: readonly number[]): boolean {
  return moments(rewards).deviation > 1e-9;
}

function moments(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  // Sample deviation (n - 1), as the reference computes it; a single value has none.
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0 };
}
