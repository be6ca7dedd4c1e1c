/** What a dataset's folder says of itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type DatasetManifest, datasetManifestSchema } from "./dataset-folder.ts";

/** The `dataset.json` of a folder; undefined where there is none that can be read. */
export async function readDatasetManifest(folder: string): Promise<DatasetManifest | undefined> {
  const text = await readFile(join(folder, "dataset.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return datasetManifestSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export type { DatasetManifest } from "./dataset-folder.ts";
