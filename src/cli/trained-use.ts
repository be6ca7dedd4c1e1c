/** What `coa.json` of a newly trained model says: what its start model said, or what its data show, and one more step. */
import { readModelUse, writeModelUse } from "../base/files/model-use-file.ts";
import { packageVersion } from "../base/files/package-version.ts";
import type { ModelTraining, ModelUse } from "../core/model-use.ts";
import type { DatasetManifest } from "../dataset/dataset-folder.ts";
import { labModelUse } from "../lab/lab-model-use.ts";
import { namedProfiles } from "./choose-profile.ts";

/** Writes `coa.json` beside trained weights, where it is known how the model is used. */
export async function saveTrainedUse(
  folder: string,
  from: { model: string; dataset?: DatasetManifest; use?: ModelUse },
  training: Omit<ModelTraining, "from" | "packageVersion">,
): Promise<void> {
  const known = from.use ?? (from.dataset && useOf(from.dataset)) ?? (await readModelUse(from.model));
  if (!known) return;
  const earlier = (await readModelUse(from.model))?.training ?? [];
  const step = { ...training, from: nameOf(from.model), packageVersion: packageVersion() };
  await writeModelUse(folder, { ...known, training: [...earlier, step] });
}

/** How a dataset's chains are written, where they are all of one kind. */
function useOf({ profiles, chains }: DatasetManifest): ModelUse | undefined {
  const [name, ...others] = Object.keys(profiles);
  if (name === undefined || others.length > 0 || chains?.question === "mixed") return undefined;
  if (name === "lab") return labModelUse([]);
  const profile = chains?.language?.profile ?? namedProfiles[name];
  if (!profile) return undefined;
  return {
    version: 1,
    language: { profile, tools: chains?.language?.tools ?? [] },
    question: chains?.question ?? "system-prompt",
    training: [],
  };
}

/** The last parts of a path: enough to recognise a model by, and nothing of the machine. */
function nameOf(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).slice(-2).join("/");
}
