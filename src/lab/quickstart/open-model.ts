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
import { type FaultPlan, withFaults } from "../../tools/with-faults.ts";
import { chainRollout } from "../../train/chain-rollout.ts";
import { createWorld } from "../create-world.ts";
import { labLimits } from "../lab-model-use.ts";
import { memoryLabTools } from "../memory-lab-tools.ts";
import { labProfile } from "../profile.ts";
import { worldTasks } from "../world-tasks.ts";
import { oneLine } from "./stage.ts";

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

/** What a model writes for one question about a world that nothing else uses, on one line; `failing`: half of its searches find nothing. */
export async function exampleChain(folder: string, failing?: FaultPlan): Promise<string> {
  const { model, engine } = await openLabModel(folder, { threads: 1 });
  try {
    const world = createWorld({ seed: 319, pages: 200, split: "test" });
    const [task] = worldTasks(world, { count: 1, seed: 1, families: ["hop1"] });
    const tools = failing ? withFaults(memoryLabTools(world), failing) : memoryLabTools(world);
    const { answer, segments } = await runLabChain(task!, { model, tools, temperature: 0, seed: 0 });
    const verdict = answer === task!.answers[0] ? "right" : "wrong";
    return `${oneLine(`${task!.question} ${segments.map(({ tag, text }) => `${tag}: ${text}`).join(" · ")}`, 260)} (${verdict})`;
  } finally {
    await engine.close();
  }
}

/** The folder of the model that comes with the package. */
export const shippedModel = join(import.meta.dirname, "..", "..", "..", "weights", "afm-lab-2m");

/** Where the quickstart keeps a stage's model. */
export function modelFolder(run: string, stage: string): string {
  return join(run, stage, "model");
}
