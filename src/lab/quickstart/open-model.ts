/** A lab model folder as a chain model: engine, tokenizer, and the settings that lab chains are run with. */
import { join } from "node:path";
import type { Engine } from "../../core/engine.ts";
import type { Model } from "../../core/model.ts";
import type { Profile } from "../../core/profile.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { engineModel } from "../../models/engine-model.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { labLimits } from "../lab-model-use.ts";
import { labProfile } from "../profile.ts";

export interface LabModel {
  engine: Engine;
  tokenizer: Tokenizer;
  model: Model;
}

export async function openLabModel(
  folder: string,
  options: { optimizer?: "adamw" | "muon"; threads?: number } = {},
): Promise<LabModel> {
  const engine = await openEmbeddedEngine({ folder, ...options });
  const tokenizer = await loadTokenizer(folder);
  return { engine, tokenizer, model: engineModel(engine, tokenizer, { name: folder.split(/[\\/]/).at(-2) ?? folder }) };
}

/** What all lab chains have in common. The bare question is the prompt: a small model has no use for instructions. */
export const labChains = { profile: labProfile, systemPrompt: false as const, limits: labLimits };

export function runLabChain(
  task: Task,
  how: {
    model: Model;
    tools: readonly Tool[];
    temperature: number;
    seed: number;
    from?: Trajectory;
    profile?: Profile;
    signal?: AbortSignal;
  },
): Promise<Trajectory> {
  const { model, tools, temperature, profile = labProfile, ...run } = how;
  return chainRollout({ ...labChains, profile, model, tools, temperature })(task, run);
}

/** The folder of the model that comes with the package. */
export const shippedModel = join(import.meta.dirname, "..", "..", "..", "weights", "afm-lab-2m");

/** Where the quickstart keeps a stage's model. */
export function modelFolder(run: string, stage: string): string {
  return join(run, stage, "model");
}
