/** A downloaded checkpoint (tar.gz) becomes a folder: the PEFT adapter as it is, or merged with the base model's weights. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { readTar } from "../../base/files/tar.ts";
import { CoaError } from "../../core/errors.ts";
import { loadAdapterFolder } from "../embedded/files/adapter-folder.ts";
import { loadModelFolder, saveModelFolder } from "../embedded/files/model-folder.ts";
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

/** The adapter in an archive, for a model of this config. */
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
