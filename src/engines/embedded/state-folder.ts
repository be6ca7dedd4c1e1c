/**
 * A training state on disk: the model's folder, or the adapter's alone where one is trained (the base is not repeated), plus the
 * optimizer's tensors and a small `state.json`. It is written beside its place and renamed, so a killed process leaves the
 * previous state whole. Being a model or adapter folder, a state can be opened like any other.
 */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { readJson } from "../../base/files/read-json.ts";
import { currentFolder } from "../../base/files/write-folder.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import { saveAdapterFolder } from "./files/adapter-folder.ts";
import { loadModelFolder, saveModelFolder } from "./files/model-folder.ts";
import { readSafetensors, writeSafetensors } from "./files/safetensors.ts";
import type { Adapter } from "./lora/adapter.ts";
import type { ModelConfig } from "./model/config.ts";
import type { ParameterSet } from "./model/parameters.ts";
import type { Optimizer } from "./optim/optimizer.ts";

const stateFile = "state.json";
const optimizerFile = "optimizer.safetensors";
const schema = z.object({
  version: z.literal(1),
  optimizer: z.enum(["adamw", "muon"]),
  steps: z.number().int().nonnegative(),
  sampleSeed: z.number().int().nonnegative(),
  adapter: z.object({ rank: z.number(), alpha: z.number(), targetModules: z.array(z.string()) }).optional(),
  /** Of the model that the adapter belongs to; absent where the whole model is in the folder. */
  base: z.string().optional(),
});

export interface EngineState {
  config: ModelConfig;
  parameters: ParameterSet;
  adapter?: Adapter;
  optimizer: Optimizer;
  /** The next seed of a sampling request that names none. */
  sampleSeed: number;
  /** Other engines read the parameters too: they are not to be written. */
  shared?: boolean;
}

/** Writes a state, all or nothing; `companionsFrom` is a model folder whose tokenizer files come along. */
export async function saveStateFolder(folder: string, state: EngineState, companionsFrom?: string): Promise<void> {
  const { config, parameters, adapter, optimizer } = state;
  const writeMore = async (temporary: string) => {
    const { steps, tensors } = optimizer.state();
    await writeSafetensors(join(temporary, optimizerFile), tensors);
    const json: z.infer<typeof schema> = {
      version: 1,
      optimizer: optimizer.name,
      steps,
      sampleSeed: state.sampleSeed,
      ...(adapter && {
        adapter: { rank: adapter.rank, alpha: adapter.alpha, targetModules: [...adapter.targetModules] },
        base: fingerprintOf(parameters),
      }),
    };
    await writeFile(join(temporary, stateFile), `${JSON.stringify(json, null, 2)}\n`);
  };
  if (adapter) await saveAdapterFolder(folder, adapter, { baseModel: companionsFrom, writeMore });
  else await saveModelFolder(folder, { config, parameters }, { type: "f32", companionsFrom, writeMore });
}

/** Distinguishes base models: the beginning of every tensor. */
function fingerprintOf(parameters: ParameterSet): string {
  const hash = createHash("sha256");
  for (const [name, { data }] of parameters) {
    hash.update(name).update(new Uint8Array(data.buffer, data.byteOffset, Math.min(256, data.length) * 4));
  }
  return hash.digest("hex");
}

/** Reads a state into live tensors: every file is read and checked first, so a bad one changes nothing. */
export async function loadStateFolder(folder: string, state: EngineState): Promise<{ sampleSeed: number }> {
  const source = await currentFolder(folder);
  const statePath = join(source, stateFile);
  const parsed = schema.safeParse(await readJson(statePath, "a saved training state has one; is this one?"));
  if (!parsed.success)
    throw new CoaError("format", `${statePath} is not a training state: ${z.prettifyError(parsed.error)}`);
  if (parsed.data.optimizer !== state.optimizer.name) {
    throw new UsageError(
      `${source} was trained with ${parsed.data.optimizer}; open the engine with that optimizer to continue`,
    );
  }
  const optimizerPath = join(source, optimizerFile);
  const { tensors } = await readSafetensors(optimizerPath);
  const sets: [ParameterSet, ParameterSet, string][] = [];
  if (parsed.data.base === undefined && state.shared)
    throw new UsageError(`${source} holds a whole model; an engine over shared weights loads adapters only`);
  if (parsed.data.base === undefined) sets.push([state.parameters, (await loadModelFolder(source)).parameters, source]);
  else if (parsed.data.base !== fingerprintOf(state.parameters))
    throw new CoaError("usage", `${source} holds an adapter of another base model; open the engine with that one`);
  if (state.adapter || parsed.data.adapter) {
    if (
      !state.adapter ||
      parsed.data.adapter?.rank !== state.adapter.rank ||
      parsed.data.adapter.alpha !== state.adapter.alpha
    ) {
      throw new UsageError(
        `${source} has adapter ${JSON.stringify(parsed.data.adapter ?? null)}; open the engine with the same`,
      );
    }
    const adapterPath = join(source, "adapter_model.safetensors");
    sets.push([state.adapter.parameters, (await readSafetensors(adapterPath)).tensors, adapterPath]);
  }
  for (const [live, saved, path] of sets) checkSame(live, saved, path);
  state.optimizer.restore({ steps: parsed.data.steps, tensors }, optimizerPath);
  for (const [live, saved] of sets) for (const [name, { data }] of live) data.set(saved.get(name)!.data);
  return { sampleSeed: parsed.data.sampleSeed };
}

function checkSame(live: ParameterSet, saved: ParameterSet, path: string): void {
  for (const [name, { shape }] of live) {
    const other = saved.get(name);
    if (!other) throw new CoaError("format", `${path}: tensor ${name} is missing`);
    if (other.shape.join() !== shape.join()) {
      throw new CoaError("format", `${path}: tensor ${name} has shape [${other.shape}], this engine's has [${shape}]`);
    }
  }
}
