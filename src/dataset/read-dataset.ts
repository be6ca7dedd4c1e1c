/** What a dataset's folder says of itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../core/json-value.ts";
import { type DatasetManifest, datasetManifestSchema } from "./dataset-folder.ts";

/** The `dataset.json` of a folder; undefined where there is none that can be read. */
export async function readDatasetManifest(folder: string): Promise<DatasetManifest | undefined> {
  const text = await readFile(join(folder, "dataset.json"), "utf8").catch(() => undefined);
  return datasetManifestSchema.safeParse(parseJson(text)).data;
}

export type { DatasetManifest } from "./dataset-folder.ts";
