/**
 * A model on disk is a Hugging Face folder: `config.json`, weights in one or several safetensors files,
 * `generation_config.json`, and the tokenizer's files. transformers, vLLM and llama.cpp's converter read the same
 * folder. We read the config and the weights; the other files are copied unchanged.
 */
import { copyFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/files/read-json.ts";
import { currentFolder, writeFolder } from "../../../base/files/write-folder.ts";
import { CoaError, UsageError } from "../../../core/errors.ts";
import { configFromHuggingFace, configToHuggingFace, type ModelConfig } from "../model/config.ts";
import { checkParameters, headName, type ParameterSet, parameterShapes } from "../model/parameters.ts";
import { readSafetensors, readSafetensorsHeader, type TensorType, writeSafetensors } from "./safetensors.ts";

const configFile = "config.json";
const generationFile = "generation_config.json";
const weightsFile = "model.safetensors";
const indexFile = "model.safetensors.index.json";

/** The files beside weights and config that belong to a model and are copied through as they are. */
const companionFiles = new Set([
  "coa.json",
  generationFile,
  "tokenizer.json",
  "tokenizer_config.json",
  "tokenizer.model",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "chat_template.json",
  "LICENSE",
  "NOTICE",
]);

export interface LoadedModel {
  config: ModelConfig;
  parameters: ParameterSet;
  /** Sampling defaults and end-of-sequence ids, as the file has them. */
  generationConfig: Record<string, unknown>;
  /** The folder that was read, which may be the one an interrupted save put aside. */
  folder: string;
}

/** Reads the config alone. */
export async function loadModelConfig(folder: string): Promise<ModelConfig> {
  const path = join(await currentFolder(folder), configFile);
  return configFromHuggingFace(await readJson(path, "a model folder has one; is this one?"), path);
}

/** Reads a model folder and checks every tensor against the config. `later`: numbers are read whenever they are asked for. */
export async function loadModelFolder(folder: string, options: { later?: boolean } = {}): Promise<LoadedModel> {
  const source = await currentFolder(folder);
  const config = await loadModelConfig(source);
  const parameters = await readWeights(source, config, options);
  checkParameters(config, parameters, source);
  const generationPath = join(source, generationFile);
  const generationConfig = (await isFile(generationPath))
    ? ((await readJson(generationPath, "")) as Record<string, unknown>)
    : {};
  return { config, parameters, generationConfig, folder: source };
}

async function readWeights(folder: string, config: ModelConfig, options: { later?: boolean }): Promise<ParameterSet> {
  const wanted = new Set(parameterShapes(config).keys());
  const parameters: ParameterSet = new Map();
  for (const [file, names] of await weightFiles(folder)) {
    const { tensors } = await readSafetensors(join(folder, file), undefined, options);
    for (const name of names ?? []) {
      if (!tensors.has(name))
        throw new CoaError(
          "format",
          `${join(folder, indexFile)} says tensor ${name} is in ${file}, but it isn't there`,
        );
    }
    for (const [name, tensor] of tensors) {
      // A tied model's file may repeat the embedding as its head, and old Llama files carry rotary tables.
      if (!wanted.has(name) && (name === headName || name.endsWith("rotary_emb.inv_freq"))) continue;
      if (parameters.has(name))
        throw new CoaError("format", `tensor ${name} is in two files of ${folder}, again in ${file}`);
      parameters.set(name, tensor);
    }
  }
  return parameters;
}

/** The weight files of a folder; with an index, also the names each must hold. */
async function weightFiles(folder: string): Promise<Map<string, string[] | undefined>> {
  if (await isFile(join(folder, weightsFile))) return new Map([[weightsFile, undefined]]);
  const indexPath = join(folder, indexFile);
  if (!(await isFile(indexPath)))
    throw new CoaError(
      "storage",
      `no ${weightsFile} and no ${indexFile} in ${folder}; other weight formats are not read here`,
    );
  const index = (await readJson(indexPath, "")) as { weight_map?: Record<string, string> };
  if (!index.weight_map || typeof index.weight_map !== "object")
    throw new CoaError("format", `${indexPath} has no weight_map`);
  const files = new Map<string, string[]>();
  for (const [name, file] of Object.entries(index.weight_map)) {
    if (typeof file !== "string" || file.includes("/") || file.includes("\\"))
      throw new CoaError("format", `${indexPath} places tensor ${name} outside its folder: ${file}`);
    files.set(file, [...(files.get(file) ?? []), name]);
  }
  return files;
}

export interface SaveModelOptions {
  /** How the numbers are stored; default: as in the folder of `companionsFrom`, else f32. */
  type?: TensorType;
  generationConfig?: Record<string, unknown>;
  /** Copies tokenizer, template and licence files from this folder, and what its config says beyond the architecture. */
  companionsFrom?: string;
  /** Further files, by name, for example a tokenizer's `save`. */
  writeMore?: (folder: string) => Promise<void>;
}

/** Writes a model folder that transformers, vLLM and we read; the old one stays until the new one is whole. */
export async function saveModelFolder(
  folder: string,
  model: { config: ModelConfig; parameters: ParameterSet },
  options: SaveModelOptions = {},
): Promise<void> {
  checkParameters(model.config, model.parameters, `the model to be written to ${folder}`);
  const from = options.companionsFrom === undefined ? undefined : await currentFolder(options.companionsFrom);
  const type = options.type ?? (from === undefined ? "f32" : await storedType(from));
  const beside = from === undefined ? [] : await readdir(from);
  const companions = beside.filter((name) => companionFiles.has(name));
  await writeFolder(folder, async (temporary) => {
    for (const name of companions) await copyFile(join(from!, name), join(temporary, name));
    await options.writeMore?.(temporary);
    await writeConfig(join(temporary, configFile), model.config, type, from);
    if (options.generationConfig) await writeJson(join(temporary, generationFile), options.generationConfig);
    await writeSafetensors(join(temporary, weightsFile), model.parameters, { type });
  });
}

const torchTypes = { f32: "float32", f16: "float16", bf16: "bfloat16" };

/** The type of a folder's weights: that of the first tensor; double precision comes back as f32, and so does what has no weights. */
async function storedType(folder: string): Promise<TensorType> {
  if (!(await isFile(join(folder, weightsFile))) && !(await isFile(join(folder, indexFile)))) return "f32";
  const [file] = (await weightFiles(folder)).keys();
  const [first] = (await readSafetensorsHeader(join(folder, file!))).tensors.values();
  const type = first?.dtype.toLowerCase();
  return type === "f16" || type === "bf16" ? type : "f32";
}

/** The config of the folder that a model comes from, ids of special tokens and all, where it is of the same architecture. */
async function writeConfig(path: string, config: ModelConfig, type: TensorType, from?: string): Promise<void> {
  const known = from === undefined ? undefined : join(from, configFile);
  const had = known && (await isFile(known)) ? ((await readJson(known, "")) as Record<string, unknown>) : undefined;
  const same = had !== undefined && isDeepStrictEqual(configFromHuggingFace(had, known), config);
  const key = had && "dtype" in had ? "dtype" : "torch_dtype";
  if (same && had[key] === torchTypes[type]) return copyFile(known!, path);
  await writeJson(path, {
    ...(same ? had : configToHuggingFace(config)),
    [same ? key : "torch_dtype"]: torchTypes[type],
  });
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * During the last steps of RL the weights vary around a point that is better than any of them; their mean is near that point.
 * Writes the mean of model folders of one architecture into a folder, with the tokenizer files and the number type of the start, or
 * else the last. `start`: the model that all the others began with, and how much of the mean is its weights, from 0 to 1.
 */
export async function averageModels(
  folders: readonly string[],
  into: string,
  options: { start?: { folder: string; share: number } } = {},
): Promise<void> {
  const [first, ...others] = folders;
  if (!first) throw new UsageError("no model folder to average");
  const share = options.start?.share ?? 0;
  if (!(share >= 0 && share <= 1)) throw new UsageError(`start.share must be between 0 and 1, not ${share}`);
  const mean = await loadModelFolder(first);
  const moveTowards = async (folder: string, step: number) => {
    const { parameters } = await loadModelFolder(folder);
    for (const [name, { data }] of mean.parameters) {
      const other = parameters.get(name);
      if (other?.data.length !== data.length)
        throw new UsageError(`${folder} and ${first} are models of different shapes: ${name} differs`);
      for (let at = 0; at < data.length; at++) data[at]! += (other.data[at]! - data[at]!) * step;
    }
  };
  for (const [index, folder] of others.entries()) await moveTowards(folder, 1 / (index + 2));
  if (options.start && share > 0) await moveTowards(options.start.folder, share);
  await saveModelFolder(into, mean, { companionsFrom: options.start?.folder ?? folders.at(-1)! });
}
