/**
 * A low-rank adapter on disk, in PEFT's layout: `adapter_config.json` and `adapter_model.safetensors`. transformers and
 * vLLM load the same folder, and adapters trained elsewhere load here.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { currentFolder, writeFolder } from "../../../base/files/write-folder.ts";
import { CoaError } from "../../../core/errors.ts";
import { type Adapter, createAdapter, loraTargets } from "../lora/adapter.ts";
import type { ModelConfig } from "../model/config.ts";
import { readJson } from "./model-folder.ts";
import { readSafetensors, type TensorType, writeSafetensors } from "./safetensors.ts";

const configFile = "adapter_config.json";
const weightsFile = "adapter_model.safetensors";

const schema = z.looseObject({
  peft_type: z.string(),
  r: z.number().int().positive(),
  lora_alpha: z.number(),
  target_modules: z.array(z.string()),
  bias: z.string().nullish(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  fan_in_fan_out: z.boolean().nullish(),
  base_model_name_or_path: z.string().nullish(),
});

/** Writes an adapter, all or nothing. */
export async function saveAdapterFolder(
  folder: string,
  adapter: Adapter,
  options: { baseModel?: string; type?: TensorType } = {},
): Promise<void> {
  await writeFolder(folder, async (temporary) => {
    const config = {
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: options.baseModel ?? null,
      r: adapter.rank,
      lora_alpha: adapter.alpha,
      lora_dropout: 0,
      target_modules: [...adapter.targetModules],
      bias: "none",
      fan_in_fan_out: false,
      modules_to_save: null,
      inference_mode: true,
    };
    await writeFile(join(temporary, configFile), `${JSON.stringify(config, null, 2)}\n`);
    await writeSafetensors(join(temporary, weightsFile), adapter.parameters, { type: options.type });
  });
}

/** Reads an adapter for a model of this config; what we can't apply exactly is refused. */
export async function loadAdapterFolder(folder: string, config: ModelConfig): Promise<Adapter> {
  const source = await currentFolder(folder);
  const configPath = join(source, configFile);
  const parsed = schema.safeParse(await readJson(configPath, "an adapter folder has one; is this one?"));
  if (!parsed.success)
    throw new CoaError("format", `${configPath} is not an adapter's: ${z.prettifyError(parsed.error)}`);
  const json = parsed.data;
  const refuse = (what: string): never => {
    throw new CoaError("format", `${configPath}: ${what} is not supported; plain LoRA on projections is`);
  };
  if (json.peft_type !== "LORA") refuse(`peft_type "${json.peft_type}"`);
  if (json.use_dora) refuse("use_dora");
  if (json.fan_in_fan_out) refuse("fan_in_fan_out");
  if ((json.bias ?? "none") !== "none") refuse(`bias "${json.bias}"`);
  const strange = json.target_modules.find((name) => !loraTargets.includes(name));
  if (strange) refuse(`target module "${strange}"`);
  // Rank-stabilised adapters divide by sqrt(rank) instead of rank.
  const alpha = json.use_rslora ? json.lora_alpha * Math.sqrt(json.r) : json.lora_alpha;
  const adapter = createAdapter(config, { rank: json.r, alpha, targets: json.target_modules }, 0);
  const weightsPath = join(source, weightsFile);
  const { tensors } = await readSafetensors(weightsPath);
  for (const [name, parameter] of adapter.parameters) {
    const tensor = tensors.get(name);
    if (!tensor) throw new CoaError("format", `${weightsPath}: tensor ${name} is missing`);
    if (tensor.shape.join() !== parameter.shape.join())
      throw new CoaError(
        "format",
        `${weightsPath}: tensor ${name} has shape [${tensor.shape}], the model asks for [${parameter.shape}]`,
      );
    parameter.data.set(tensor.data);
    tensors.delete(name);
  }
  const [extra] = tensors.keys();
  if (extra) throw new CoaError("format", `${weightsPath}: tensor ${extra} belongs to nothing in this model`);
  return adapter;
}
