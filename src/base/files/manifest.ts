/**
 * What a stage leaves on disk says what made it: `manifest.json` in every folder, `<name>.manifest.json` beside a single
 * file, one schema for all stages. It holds the
 * whole configuration, where the inputs came from and how far the work is, so that the same work can be resumed, other
 * work is refused, and a reader can follow a model back to the runs it learned from.
 */
import { join } from "node:path";
import { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { readJsonIfThere } from "./read-json.ts";

export const manifestName = "manifest.json";

const manifestKinds = [
  "recordings",
  "team-runs",
  "distillation",
  "dataset",
  "training",
  "evaluation",
  "quickstart",
  "up",
  "model",
  "serve",
] as const;
export type ManifestKind = (typeof manifestKinds)[number];

const lineageSchema = z.object({
  /** What it is to this stage: `runs`, `tasks`, `dataset`, `model`. */
  role: z.string(),
  path: z.string().optional(),
  /** Hash of the content, or the fingerprint of the folder's own manifest. */
  fingerprint: z.string().optional(),
  records: z.number().optional(),
});
export type Lineage = z.infer<typeof lineageSchema>;

const progressSchema = z.object({
  state: z.enum(["running", "done", "failed"]),
  done: z.number(),
  total: z.number().optional(),
  /** Figures that a listing shows: loss, success, examples. */
  figures: z.record(z.string(), z.union([z.number(), z.string()])).optional(),
  updatedAt: z.string(),
});
export type ManifestProgress = z.infer<typeof progressSchema>;

const manifestSchema = z.object({
  version: z.literal(1),
  kind: z.enum(manifestKinds),
  createdAt: z.string(),
  packageVersion: z.string(),
  /** Everything that decides the result: system, model fingerprint, profile, tools, sampling, seed. */
  configuration: z.record(z.string(), z.unknown()),
  inputs: z.array(lineageSchema),
  /** Of kind, configuration and the inputs' fingerprints. */
  fingerprint: z.string(),
  progress: progressSchema,
});
export type Manifest = z.infer<typeof manifestSchema>;

/** The manifest of a folder; undefined where there is none. */
export function readManifest(folder: string): Promise<Manifest | undefined> {
  return readManifestFile(join(folder, manifestName));
}

/** Where the manifest of a single file of records is: `runs.manifest.json` beside `runs.jsonl`. */
export function manifestBeside(file: string): string {
  return `${file.replace(/\.jsonl$/, "")}.${manifestName}`;
}

/** A manifest at its own path; undefined where there is none. */
export async function readManifestFile(path: string): Promise<Manifest | undefined> {
  const value = await readJsonIfThere(path);
  if (value === undefined) return undefined;
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const version = (value as { version?: unknown } | null)?.version;
  throw new CoaError(
    "storage",
    version === 1
      ? `${path} is not a manifest: ${z.prettifyError(parsed.error)}`
      : `${path} has version ${JSON.stringify(version)}: it was written by another release of chain-of-agents`,
  );
}
