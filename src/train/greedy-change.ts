/**
 * Whether training changed what a model does: the same tasks answered greedily before and after. A rate that is too low moves
 * the weights and none of the answers, which neither the loss nor the reward shows.
 */
import { inParallel } from "../base/work/limiter.ts";
import type { Policy } from "../core/engine.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { chainRollout } from "./chain-rollout.ts";

/** Answers each task once, at temperature 0; `policy` is undefined where the rollout has a model of its own. */
export function greedyChains(
  tasks: readonly Task[],
  rollout: ReturnType<typeof chainRollout>,
  { policy, signal }: { policy?: Policy; signal?: AbortSignal },
): Promise<Trajectory[]> {
  const chain = { sampling: { temperature: 0 } };
  return inParallel(tasks, 64, (task, seed) => rollout(task, { seed, policy, chain, signal }));
}

/** How many chains are not written as they were before. */
export function changedChains(before: readonly Trajectory[], after: readonly Trajectory[]): number {
  return after.filter((chain, at) => written(chain) !== written(before[at]!)).length;
}

function written({ segments }: Trajectory): string {
  return JSON.stringify(segments.filter(({ by }) => by === "model").map(({ tag, text }) => [tag, text]));
}
