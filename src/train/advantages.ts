/**
 * Group-normalised advantages (GRPO, as DAPO uses it): a rollout is good or bad only in comparison with the other
 * rollouts of the same task. A group without variance teaches nothing and is dropped (dynamic sampling).
 */

/** (reward - mean) / (std + 1e-6) of one group. */
export function groupAdvantages(rewards: readonly number[]): number[] {
  const { mean, deviation } = moments(rewards);
  return rewards.map((reward) => (reward - mean) / (deviation + 1e-6));
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
