/** How one rollout of `train rl` is run: by the training process itself, or by a worker with the same settings. */

import { wrapModel } from "../base/work/wrap-model.ts";
import { runChain } from "../chain/run-chain.ts";
import type { Model } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Profile } from "../language/profile.ts";

/** What every rollout of a run has in common. */
export interface RolloutChain {
  temperature: number;
  limits: Record<string, number>;
  /** The question is put without a system prompt. */
  bareQuestion: boolean;
}

/** Runs a task with these seeds and this context window. */
export function playRollout(
  task: Task,
  run: { seed: number; step: number; maxContext: number; from?: Trajectory; signal?: AbortSignal },
  how: { model: Model; tools: readonly Tool[]; profile: Profile; chain: RolloutChain },
): Promise<Trajectory> {
  const { model, tools, profile, chain } = how;
  return runChain(task, {
    model: wrapModel(model, { capabilities: (own) => ({ ...own, contextWindow: run.maxContext }) }),
    tools: [...tools],
    profile,
    systemPrompt: chain.bareQuestion ? false : undefined,
    limits: chain.limits,
    sampling: { temperature: chain.temperature, seed: run.seed },
    id: `${task.id}-${run.step}-${run.seed}`,
    from: run.from,
    signal: run.signal,
  });
}
