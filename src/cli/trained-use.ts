/** How a model that was taught with a dataset is used. */
import type { ModelUse } from "../core/model-use.ts";
import type { DatasetManifest } from "../dataset/dataset-folder.ts";
import { labModelUse } from "../lab/lab-model-use.ts";
import { namedProfiles } from "./choose-profile.ts";

/** How a dataset's chains are written, where they are all of one kind. */
export function useOf({ profiles, chains }: DatasetManifest): ModelUse | undefined {
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
