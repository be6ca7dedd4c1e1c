/** A downloaded checkpoint (tar.gz) becomes a folder: the PEFT adapter as it is, or merged with the base model's weights. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { readJson } from "../../base/files/read-json.ts";
import { readTar } from "../../base/files/tar.ts";
import { writeJson } from "../../base/files/write-file.ts";
import { CoaError } from "../../core/errors.ts";
import { asObject } from "../../core/json-value.ts";
import { loadAdapterFolder } from "../embedded/files/adapter-folder.ts";
import { loadModelFolder, saveModelFolder } from "../embedded/files/model-folder.ts";
import { readSafetensors } from "../embedded/files/safetensors.ts";
import { type Adapter, mergedParameters } from "../embedded/lora/adapter.ts";
import type { ModelConfig } from "../embedded/model/config.ts";

/** Writes the archive's files into a folder; with `merge` the adapter is added to the base model first. */
export async function saveCheckpointFiles(
  archive: Uint8Array,
  folder: string,
  options: { merge: boolean; baseFolder?: string },
): Promise<void> {
  const files = unpacked(archive);
  const isAdapter = [...files.keys()].some((name) => basename(name) === "adapter_config.json");
  if (!options.merge && isAdapter) {
    await writeFiles(files, folder);
    return nameTargets(folder);
  }
  if (!options.merge || !isAdapter) return writeFiles(files, folder);
  if (!options.baseFolder) {
    throw new CoaError(
      "usage",
      "the server gives an adapter; to have a whole model name the base model's folder, or save the adapter",
    );
  }
  const { config, parameters } = await loadModelFolder(options.baseFolder);
  const merged = mergedParameters(parameters, await readAdapterArchive(archive, config));
  await saveModelFolder(folder, { config, parameters: merged }, { companionsFrom: options.baseFolder });
}

/**
 * SkyRL leaves the adapted modules open, and PEFT then takes those that are usual for the kind of model: it would load some of the
 * weights and drop the others without a word. So the modules that have weights are named.
 */
async function nameTargets(folder: string): Promise<void> {
  const path = join(folder, "adapter_config.json");
  const config = asObject(await readJson(path));
  const weights = join(folder, "adapter_model.safetensors");
  if (!config || (config["target_modules"] ?? null) !== null || !existsSync(weights)) return;
  const names = [...(await readSafetensors(weights)).tensors.keys()];
  const targets = [...new Set(names.flatMap((name) => /\.(\w+)\.lora_A\./.exec(name)?.[1] ?? []))].sort();
  if (targets.length > 0) await writeJson(path, { ...config, target_modules: targets });
}

export async function readAdapterArchive(archive: Uint8Array, config: ModelConfig): Promise<Adapter> {
  const temporary = await mkdtemp(join(tmpdir(), "coa-adapter-"));
  try {
    await writeFiles(unpacked(archive), temporary);
    return await loadAdapterFolder(temporary, config);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function unpacked(archive: Uint8Array): ReadonlyMap<string, Uint8Array> {
  return readTar(archive[0] === 0x1f ? gunzipSync(archive) : archive);
}

async function writeFiles(files: ReadonlyMap<string, Uint8Array>, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Names within an archive may lead anywhere: only the last part is used.
  for (const [name, data] of files) await writeFile(join(folder, basename(name)), data);
}
