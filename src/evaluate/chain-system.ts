/** A chain as a system under evaluation: one model with its tools and profile. */

import { checkOptions } from "../base/work/check-options.ts";
import type { ChainOptions } from "../chain/chain-options.ts";
import { checkScore } from "../chain/check-score.ts";
import { runChain } from "../chain/run-chain.ts";
import { toolsByName } from "../chain/tool-set.ts";
import type { Profile } from "../core/profile.ts";
import type { System, SystemResult } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { defineSystem, trajectoryResult } from "./define-system.ts";

export interface ChainSystemOptions extends Omit<ChainOptions, "id" | "replay" | "signal" | "tools"> {
  name?: string;
  /** What it is in full, as plain data; by default what the options below say. */
  identity?: System["identity"];
  /** The tools, or a function that gives those of a task (tasks of a lab world have their own). */
  tools: ChainOptions["tools"] | ((task: Task) => ChainOptions["tools"]);
}

/** Evaluates a chain; each run gets the seed of its task and sample, and a trajectory id that says both. */
export function chainSystem(options: ChainSystemOptions): System {
  checkOptions("chainSystem", options);
  const { name, tools, identity, ...chain } = options;
  return defineSystem({
    name: name ?? chain.model.name,
    topology: "single",
    identity: identity ?? identityOf({ tools, ...chain }),
    async run(task, { sample, seed, signal }) {
      const trajectory = await runChain(task, {
        ...chain,
        tools: typeof tools === "function" ? tools(task) : tools,
        id: `${task.id}#${sample}`,
        sampling: { ...chain.sampling, seed },
        signal,
      });
      return chainResult(chain.profile ?? trajectory.language!.profile, trajectory);
    },
  });
}

/** What a chain counts as in an evaluation, with the score that its own check gave the answer. */
export function chainResult(profile: Profile, trajectory: Trajectory): SystemResult {
  const check = checkScore(profile, trajectory);
  return { ...trajectoryResult(trajectory), ...(check !== undefined && { check }) };
}

function identityOf({ model, tools, profile, sampling, limits, enforcement, systemPrompt }: ChainSystemOptions) {
  const names = typeof tools === "function" ? "of each task" : [...toolsByName(tools).keys()];
  const settings = { sampling: { ...sampling, seed: undefined }, limits, enforcement, systemPrompt };
  return { kind: "chain", model: model.name, profile, tools: names, ...settings };
}
