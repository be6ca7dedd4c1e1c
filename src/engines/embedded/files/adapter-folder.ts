/**
 * A low-rank adapter on disk, in PEFT's layout: `adapter_config.json` and `adapter_model.safetensors`. transformers and
 * vLLM load the same folder, and adapters trained elsewhere load here.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { readJson } from "../../../base/files/read-json.ts";
import { currentFolder, writeFolder } from "../../../base/files/write-folder.ts";
import { CoaError } from "../../../core/errors.ts";
import { type Adapter, createAdapter, loraTargets } from "../lora/adapter.ts";
import type { ModelConfig } from "../model/config.ts";
import { readSafetensors, type TensorType, writeSafetensors } from "./safetensors.ts";

const configFile = "adapter_config.json";
const weightsFile = "adapter_model.safetensors";

const schema = z.looseObject({
  peft_type: z.string(),
  r: z.number().int().positive(),
  lora_alpha: z.number(),
  /** A list, a rule over names, or nothing where its writer (SkyRL) left it to the tensors. */
  target_modules: z.union([z.array(z.string()), z.string()]).nullish(),
  bias: z.string().nullish(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  fan_in_fan_out: z.boolean().nullish(),
  base_model_name_or_path: z.string().nullish(),
  /** Other ranks and scales for modules whose name ends in what the key matches. */
  rank_pattern: z.record(z.string(), z.number().int().positive()).nullish(),
  alpha_pattern: z.record(z.string(), z.number()).nullish(),
});

/** Fields that do not change what an adapter computes. Any other that says something is refused by name. */
const harmless = new Set([
  ...Object.keys(schema.shape),
  "auto_mapping",
  "inference_mode",
  "lora_dropout",
  "megatron_core",
  "peft_version",
  "qalora_group_size", // PEFT always writes it; it means something under use_qalora alone, which is refused
  "revision",
  "task_type",
]);
/** Ways of starting an adapter that leave the base as it is; others (PiSSA, OLoRA, ...) change it. */
const plainStarts: unknown[] = [undefined, null, true, false, "gaussian", "orthogonal", "eva"];

/** Writes an adapter, all or nothing. */
export async function saveAdapterFolder(
  folder: string,
  adapter: Adapter,
  options: { baseModel?: string; type?: TensorType; writeMore?: (folder: string) => Promise<void> } = {},
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
    await options.writeMore?.(temporary);
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
  for (const [key, value] of Object.entries(json)) {
    if (key === "init_lora_weights") {
      if (!plainStarts.includes(value)) refuse(`init_lora_weights ${JSON.stringify(value)}`);
    } else if (!harmless.has(key) && saysSomething(value)) refuse(`${key} ${JSON.stringify(value).slice(0, 80)}`);
  }
  const weightsPath = join(source, weightsFile);
  const { tensors } = await readSafetensors(weightsPath);
  const names = [...tensors.keys()];
  const targets = Array.isArray(json.target_modules)
    ? json.target_modules
    : loraTargets.filter((target) => names.some((name) => name.includes(`.${target}.lora_A.`)));
  const strange = targets.find((name) => !loraTargets.includes(name));
  if (strange) refuse(`target module "${strange}"`);
  const rank = Math.max(json.r, ...Object.values(json.rank_pattern ?? {}));
  // One scale for all, alpha / rank; what a module's own scale differs from it goes into its weights.
  const alpha = json.use_rslora ? json.lora_alpha * Math.sqrt(rank) : json.lora_alpha;
  const adapter = createAdapter(config, { rank, alpha, targets }, 0);
  for (const [weight, { down, up }] of adapter.pairs) {
    const module = weight.replace(/\.weight$/, "");
    const own = {
      rank: patternValue(json.rank_pattern, module) ?? json.r,
      alpha: patternValue(json.alpha_pattern, module) ?? json.lora_alpha,
    };
    const ownScale = own.alpha / (json.use_rslora ? Math.sqrt(own.rank) : own.rank);
    place(adapter, down, own.rank, 1);
    place(adapter, up, own.rank, ownScale / (alpha / rank));
  }
  /** Puts a tensor of rank `ownRank` into its place, zeros around it, times `factor`. */
  function place({ parameters }: Adapter, name: string, ownRank: number, factor: number): void {
    const { shape, data } = parameters.get(name)!;
    const tensor = tensors.get(name);
    if (!tensor) throw new CoaError("format", `${weightsPath}: tensor ${name} is missing`);
    const isDown = name.includes(".lora_A.");
    const expected = isDown ? [ownRank, shape[1]!] : [shape[0]!, ownRank];
    if (tensor.shape.join() !== expected.join())
      throw new CoaError(
        "format",
        `${weightsPath}: tensor ${name} has shape [${tensor.shape}], the model asks for [${expected}]`,
      );
    data.fill(0);
    const [rows, columns] = expected as [number, number];
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        data[row * shape[1]! + column] = tensor.data[row * columns + column]! * factor;
    tensors.delete(name);
  }
  const [extra] = tensors.keys();
  if (extra) throw new CoaError("format", `${weightsPath}: tensor ${extra} belongs to nothing in this model`);
  return adapter;
}

function saysSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0 || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** The value of the first pattern that the module's name ends with, as PEFT matches them. */
function patternValue(patterns: Record<string, number> | null | undefined, module: string): number | undefined {
  for (const [pattern, value] of Object.entries(patterns ?? {})) {
    let rule: RegExp;
    try {
      rule = new RegExp(`^(.*\\.)?(${pattern})$`);
    } catch (error) {
      throw new CoaError("format", `the adapter's pattern "${pattern}" is not a regular expression`, { cause: error });
    }
    if (rule.test(module)) return value;
  }
  return undefined;
}
