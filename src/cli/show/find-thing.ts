/**
 * What a person means by a word: a path as it is, something of the workspace by its name, a recorded run by how its id
 * begins, a profile. Folders are told apart by their manifest or by the files in them, files by their first record.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readManifest } from "../../base/files/manifest.ts";
import { isModelFolder } from "../../base/files/model-folders.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { type FileKind, fileKindOf } from "../../base/files/record-kind.ts";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { asObject } from "../../core/json-value.ts";
import { openRunIndex } from "../../record/recordings/run-index.ts";
import { holdsRecordings } from "../../record/recordings.ts";
import { namedProfiles } from "../choose-profile.ts";
import { findModelFolder, knownModels } from "../find-model.ts";
import type { View } from "./shown.ts";

/** Something that can be shown; a recorded run is an item of its recordings. */
export interface Thing {
  kind: keyof typeof views;
  path: string;
  item?: string;
}

/** Finds what a word means; nothing means the workspace. */
export async function findThing(word: string | undefined): Promise<Thing> {
  const root = workspaceRoot();
  if (word === undefined) return { kind: "workspace", path: root };
  for (const path of [word, join(root, word), join(root, "evals", word), join(root, "distilled", word)])
    if (existsSync(path)) return { kind: await kindOf(path), path };
  if (word === "benchmarks") return { kind: "benchmarks", path: word };
  if (word === "profiles" || word in namedProfiles) return { kind: "profile", path: word };
  const model = findModelFolder(word);
  if (model !== undefined) return { kind: "model", path: model };
  const recordings = join(root, "recordings");
  const index = (await holdsRecordings(recordings)) ? await openRunIndex(recordings) : undefined;
  if (index && (await index.find(word)).length > 0) return { kind: "recordings", path: recordings, item: word };
  const newest = (await index?.newest(3)) ?? [];
  const known = [...knownModels().map(({ name }) => name), ...newest.reverse()];
  throw new UsageError(
    `${word} is not a path, and nothing in ${root} has this name${known.length > 0 ? `; there are ${known.join(", ")}` : ""}. See: coa show`,
  );
}

/** Files that only one kind of folder has. */
const bySign = {
  "dataset.json": "dataset",
  "journal.jsonl": "evaluation",
  "outcomes.jsonl": "distillation",
  "metrics.jsonl": "training",
  "index.bin": "index",
  "world.json": "world",
} as const satisfies Record<string, Thing["kind"]>;

/** What the lines of a file are shown as. */
const byRecord: Partial<Record<FileKind, Thing["kind"]>> = {
  runs: "records",
  chains: "records",
  rollouts: "records",
  tasks: "tasks",
};

/** What is at a path that exists. */
async function kindOf(path: string): Promise<Thing["kind"]> {
  if (!statSync(path).isDirectory()) return fileKind(path);
  const claimed = (await readManifest(path).catch(() => undefined))?.kind;
  if (claimed !== undefined && claimed in views) return claimed as Thing["kind"];
  for (const [name, shown] of Object.entries(bySign)) if (existsSync(join(path, name))) return shown;
  if (isModelFolder(path)) return "model";
  return (await holdsRecordings(path)) ? "recordings" : "workspace";
}

async function fileKind(path: string): Promise<Thing["kind"]> {
  if (path.endsWith(".gguf")) return "model";
  if (/\.(?:ts|js|mjs|json)$/.test(path)) return "profile";
  for await (const line of readJsonl(path))
    return byRecord[fileKindOf(line)] ?? (typeof asObject(line)?.["question"] === "string" ? "tasks" : "lines");
  return "lines";
}

const others = () => import("./show-others.ts");
const records = () => import("./show-records.ts");

/** How each kind of thing is shown. */
export const views = {
  workspace: async () => (await import("./show-workspace.ts")).showWorkspace,
  dataset: async () => (await import("./show-dataset.ts")).showDataset,
  distillation: async () => (await import("./show-dataset.ts")).showDistillation,
  evaluation: async () => (await import("./show-evaluation.ts")).showEvaluation,
  training: async () => (await import("./show-records.ts")).showTraining,
  model: async () => (await import("./show-others.ts")).showModel,
  recordings: async () => (await records()).showRecordings,
  records: async () => (await records()).showRecords,
  index: async () => (await others()).showIndex,
  world: async () => (await others()).showWorld,
  tasks: async () => (await others()).showTasks,
  lines: async () => (await others()).showLines,
  profile: async () => (await others()).showProfile,
  benchmarks: async () => (await others()).showBenchmarks,
} satisfies Record<string, () => Promise<View>>;
