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
import { gradientWeight, groupAdvantages, groupBaseline } from "./advantages.ts";
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
