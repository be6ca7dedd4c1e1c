/**
 * The credit that each rollout of a group gets: its reward against the group's, on the tokens that it sampled. Where
 * only a part of each rollout can have made the difference (what came after a tool failed, say), `credit.from` leaves
 * the rest without advantage, and rollouts without any credited token are not compared at all. A rollout of a tree is
 * credited from its branch on.
 */
import type { RolloutFigures } from "../core/chain-marks.ts";
import type { Example } from "../core/engine.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { rolloutToExamples } from "../dataset/trajectory-to-example.ts";
import { type Credit, creditStart } from "./credit.ts";
import { trainedTokens } from "./normalise.ts";
import { rolloutKey } from "./run-rollout.ts";
import type { DroppedRollout, Group } from "./sort-groups.ts";

/** What happened to one rollout; a line of rollout-figures.jsonl. */
export interface RolloutLine extends RolloutFigures {
  rollout: string;
  taskId: string;
  reward: number | null;
  /** Optimizer steps between the weights that sampled it and those that were first trained on it. */
  staleness: number;
  tokens?: number;
}

/** An example together with the rollout it comes from. */
export interface TrainedExample {
  example: Example;
  /** 1 on tokens that were sampled and are credited, 0 on all others. */
  sampled: Float32Array; // [token]
  line: RolloutLine;
}

/** Every rollout of a group with its advantage on the tokens it sampled and is credited for. */
export function creditGroup(
  group: Group,
  version: number,
  options: { tokenizer: Tokenizer; credit?: Credit; maxContext?: number },
): TrainedExample[] {
  const { tokenizer, maxContext, credit = {} } = options;
  const { rewardWeight = 1 } = credit;
  const rollouts = group.rollouts.map((rollout) => credited(rollout, credit));
  const examples = rollouts.map(({ trajectory }) =>
    rolloutToExamples(trajectory, tokenizer, 1, maxContext).filter(
      (example) => trainedTokens([example], { name: "importance_sampling" }) > 0,
    ),
  );
  // A rollout without a credited token says nothing about the others: it is not compared with them.
  const compared = rollouts.flatMap(({ reward }, at) => (examples[at]!.length > 0 ? [reward] : []));
  const weights = examples.map((parts) => parts.reduce((sum, part) => sum + gradientWeight(part), 0));
  const counted = weights.filter((_, at) => examples[at]!.length > 0);
  const baseline = groupBaseline(compared, credit.baseline === "least-variance" ? counted : undefined);
  const advantages = groupAdvantages(compared, baseline);
  let next = 0;
  return rollouts.flatMap((rollout, at) => {
    if (examples[at]!.length === 0) return [];
    const advantage = advantages[next++]!;
    const { policyVersion } = rollout.trajectory;
    const basics = lineOf({ ...rollout, taskId: rollout.task.id, policyVersion }, version);
    const tokens = trainedTokens(examples[at]!, { name: "importance_sampling" });
    const line = { ...basics, kept: true, baseline, advantage, tokens, clippedTokens: 0 };
    return examples[at]!.map((example) => ({
      example: { ...example, advantages: example.advantages!.map((one) => one * advantage * rewardWeight) },
      sampled: example.advantages!,
      line,
    }));
  });
}

/** The rollout with log-probabilities, and so advantages, from the credited segment on alone. */
function credited(rollout: Group["rollouts"][number], credit: Credit): Group["rollouts"][number] {
  const from = creditStart(rollout.trajectory, credit);
  if (from === 0) return rollout;
  const segments = rollout.trajectory.segments.map((segment, at) => {
    if (at >= from) return segment;
    const { logprobs: _, ...rest } = segment;
    return rest;
  });
  return { ...rollout, trajectory: { ...rollout.trajectory, segments } };
}

export function lineOf(rollout: Omit<DroppedRollout, "reason">, version: number) {
  const { step, round, slot, reward, taskId, policyVersion } = rollout;
  const staleness = version - (policyVersion ?? version);
  return { step, group: `${step}/${round}/${slot}`, rollout: rolloutKey(rollout), taskId, reward, staleness };
}

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

/** (reward - baseline) / (std + 1e-6) of one group (GRPO, as DAPO uses it). */
export function groupAdvantages(rewards: readonly number[], baseline = groupBaseline(rewards)): number[] {
  const { deviation } = moments(rewards);
  return rewards.map((reward) => (reward - baseline) / (deviation + 1e-6));
}

/**
 * What the rewards of a group are compared with: their mean, weighted by `weights` where given. Any baseline leaves the expected
 * gradient as it is; it decides how noisy the gradient is. A failed rollout has made a mistake somewhere and then often continues
 * without sense: many unlikely tokens, a huge gradient, little to learn from. With the plain mean such rollouts dominate; weighted
 * by the size of each rollout's own gradient, a model that mostly copies learns several times faster.
 */
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
