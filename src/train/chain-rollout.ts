/**
 * What a rollout is: a chain by the policy of a step, within the step's context, named after its task and seed. Training, workers and
 * the lab all run rollouts here, so that one of the same task and seed is the same wherever it runs: tools that fail by plan
 * decide by that name.
 */
import { inParallel } from "../base/work/limiter.ts";
import { wrapModel } from "../base/work/wrap-model.ts";
import type { ChainOptions } from "../chain/chain-options.ts";
import { runChain } from "../chain/run-chain.ts";
import type { Policy } from "../core/engine.ts";
import type { Model } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { RolloutRun } from "./run-rollout.ts";

export interface ChainRolloutOptions
  extends Pick<ChainOptions, "profile" | "limits" | "enforcement" | "systemPrompt" | "compaction"> {
  /** The model, or what makes one of the policy: `(policy) => engineModel(policy, tokenizer)`. */
  model: Model | ((policy: Policy) => Model | Promise<Model>);
  /** The tools, or a function that gives those of a task and step: `withFaults` goes here. */
  tools: readonly Tool[] | ((task: Task, step: number) => readonly Tool[] | Promise<readonly Tool[]>);
  /** Default 1; the loss must have the same. */
  temperature?: number;
}

/**
 * The `rollout` of `trainRl` that runs chains. The seed of a run decides everything that is left to chance; `chain` is what it sets for
 * itself.
 */
export function chainRollout(
  options: ChainRolloutOptions,
): (
  task: Task,
  run: Pick<RolloutRun, "seed"> &
    Partial<RolloutRun> & { policy?: Policy; chain?: Pick<ChainOptions, "id" | "limits" | "sampling"> },
) => Promise<Trajectory> {
  const { model, tools, temperature = 1, ...all } = options;
  return async (task, { seed, step = 0, maxContext, policy, chain, from, signal }) => {
    const own = typeof model === "function" ? await model(policy!) : model;
    const given = typeof tools === "function" ? await tools(task, step) : tools;
    return runChain(task, {
      ...all,
      limits: { ...all.limits, ...chain?.limits },
      model:
        maxContext === undefined
          ? own
          : wrapModel(own, { capabilities: (had) => ({ ...had, contextWindow: maxContext }) }),
      tools: [...given],
      sampling: { temperature, seed, ...chain?.sampling },
      id: chain?.id ?? `${task.id}-${seed}`,
      from,
      signal,
    });
  };
}

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
