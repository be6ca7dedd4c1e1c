/**
 * From traces to a dataset in one command: the chains of a distillation become examples, the turns of a session on one
 * side of the split, and every run that is not in the dataset is in `left-out.jsonl` with its reason.
 */
import { join } from "node:path";
import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import type { OnProgress } from "../../core/events.ts";
import { type Trajectory, trajectorySchema } from "../../core/trajectory.ts";
import { buildDataset, type DatasetManifest } from "../../dataset/dataset-folder.ts";
import { type Side, splitKey, splitSide } from "../../dataset/split.ts";
import type { OutcomeRecord } from "../../distill/distill-report.ts";
import { chooseTokenizer } from "../choose-tokenizer.ts";
import { number, text, whole } from "../setting.ts";

/** Flags of the dataset that a distillation can build at once. */
export const datasetOptions = {
  dataset: text("Build the dataset in this folder too", { valueName: "folder", group: "output" }),
  vocabulary: whole("Train the dataset's tokenizer, of this size", { valueName: "size", group: "output" }),
  validation: number("Share of sessions and tasks for a second dataset, <folder>-validation", { default: 0, min: 0, max: 1, valueName: "share", group: "output" }),
} as const; // biome-ignore format: one flag a line

/** Why something that was given is not in the dataset. */
export interface LeftOut {
  /** The run's id; absent where a file could not be read at all. */
  run?: string;
  file?: string;
  line?: number;
  stage: string;
  reason: string;
  detail?: string;
}

export interface BuiltDatasets {
  datasets: { folder: string; side: Side; manifest: DatasetManifest }[];
  leftOut: LeftOut[];
}

export interface BuildDistilledOptions {
  /** The folder of the distillation. */
  distilled: string;
  dataset: string | undefined;
  tokenizer?: string;
  vocabulary?: number;
  validation: number;
  maxTokens?: number;
  seed?: number;
  unreadable: readonly { file: string; reason: string }[];
  signal: AbortSignal;
  onProgress: OnProgress;
}

/** Builds the datasets, where one is wanted, and writes down what is left out. */
export async function buildDistilled(options: BuildDistilledOptions): Promise<BuiltDatasets> {
  const { distilled, dataset, signal } = options;
  const file = join(distilled, "trajectories.jsonl");
  const leftOut: LeftOut[] = options.unreadable.map((one) => ({ ...one, stage: "import" }));
  for await (const { id, file: from, line, stage, reason = "", detail } of readJsonl<OutcomeRecord>(
    join(distilled, "outcomes.jsonl"),
  )) {
    if (stage !== null) leftOut.push({ run: id, file: from, line, stage, reason, ...(detail && { detail }) });
  }
  const datasets: BuiltDatasets["datasets"] = [];
  if (dataset !== undefined) {
    const chains = () => readJsonl(file, trajectorySchema, { signal });
    const tokenizer = await chooseTokenizer(options.tokenizer, options.vocabulary, chains);
    const { validation } = options;
    const sideOf = (chain: Trajectory) => splitSide(splitKey(chain), { validation, seed: options.seed ?? 0 });
    const sides = new Set<Side>();
    for await (const chain of chains()) sides.add(sideOf(chain));
    for (const side of ["train", "validation"] as const) {
      if (!sides.has(side)) continue;
      const folder = side === "train" ? dataset : `${dataset}-validation`;
      const only = async function* (): AsyncGenerator<Trajectory> {
        for await (const chain of chains()) if (sideOf(chain) === side) yield chain;
      };
      const manifest = await buildDataset(only(), {
        folder,
        tokenizer,
        maxTokens: options.maxTokens,
        inputs: [{ role: "trajectories", path: file, fingerprint: await fileFingerprint(file) }],
        signal,
        onProgress: options.onProgress,
      });
      datasets.push({ folder, side, manifest });
      for await (const { id, reason, detail } of readJsonl<{ id: string; reason: string; detail: string }>(
        join(folder, "dropped.jsonl"),
      )) {
        leftOut.push({ run: id.replace(/^distilled-/, ""), stage: "dataset", reason, detail });
      }
    }
  }
  await writeFileAtomically(
    join(distilled, "left-out.jsonl"),
    leftOut.map((one) => `${JSON.stringify(one)}\n`).join(""),
  );
  return { datasets, leftOut };
}

/** What people read: the datasets, then one line for each run or file that is in none of them. */
export function datasetText({ datasets, leftOut }: BuiltDatasets, most = 20): string[] {
  const lines = datasets.map(({ folder, side, manifest: { examples, tokens } }) => {
    const share = Math.round((100 * tokens.trained) / tokens.all);
    return `${side}: ${examples} examples, ${tokens.all} tokens (${share} % trained) in ${folder}`;
  });
  for (const { run, file, line, stage, reason, detail } of leftOut.slice(0, most)) {
    const where = [run, file && (line === undefined ? file : `${file}:${line}`)].filter(Boolean).join(" in ");
    lines.push(`left out: ${where}: ${stage}: ${reason}${detail ? ` (${detail})` : ""}`);
  }
  if (leftOut.length > most) lines.push(`and ${leftOut.length - most} others in left-out.jsonl`);
  return lines;
}
