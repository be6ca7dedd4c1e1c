/**
 * A dataset is a folder that explains itself: `manifest.json` (what made it), `dataset.json` (what went in, what came out, why the rest did not),
 * `examples.jsonl` (token ids and weights, one example per line), `dropped.jsonl` and the tokenizer. It is written all or
 * nothing and carries a fingerprint of its examples, so that a training run can say exactly what it learned from.
 */

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { claimFolder } from "../base/files/claim-folder.ts";
import type { Lineage } from "../base/files/manifest.ts";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readJsonAs } from "../base/files/read-json.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { currentFolder, writeFolder } from "../base/files/write-folder.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { CoaError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import { chainLanguageSchema } from "../core/profile.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { NamedProfiles } from "../language/edit-chain.ts";
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts";
import { annotationApplier } from "./apply-annotations.ts";
import type { ChainVerdicts } from "./read-annotations.ts";
import { type TrainingSequence, trainedTokens, trainingSequenceSchema } from "./training-sequence.ts";
import { type ExampleOptions, type SequenceResult, trajectoryToSequences } from "./trajectory-to-example.ts";

export const datasetManifestSchema = z.object({
  version: z.literal(1),
  examples: z.number(),
  /** Trajectories that came in; those that are no example are counted under their reason. */
  trajectories: z.number(),
  dropped: z.record(z.string(), z.number()),
  cut: z.number(),
  tokens: z.object({ all: z.number(), trained: z.number(), prompt: z.number(), longest: z.number() }),
  profiles: z.record(z.string(), z.number()),
  /** How the chains are written: with or without a system prompt, and profile and tools by value where they say so. */
  chains: z
    .object({ question: z.enum(["bare", "system-prompt", "mixed"]), language: chainLanguageSchema.optional() })
    .optional(),
  /** How it is known that the chains are right: `right by task file`, `assumed right`, and so on. */
  right: z.record(z.string(), z.number()).optional(),
  vocabularySize: z.number(),
  options: z.object({
    maxTokens: z.number().optional(),
    overlong: z.enum(["drop", "cut"]),
    endOfTurn: z.boolean(),
    weights: z.record(z.string(), z.number()).optional(),
  }),
  /** What people's annotations did, where some were given. */
  annotations: z
    .object({
      kept: z.number(),
      dropped: z.number(),
      edited: z.number(),
      invalid: z.number(),
      unmatched: z.number(),
      changed: z.number(),
    })
    .optional(),
  /** SHA-256 of `examples.jsonl`. */
  fingerprint: z.string(),
});
export type DatasetManifest = z.infer<typeof datasetManifestSchema>;

export interface BuildDatasetOptions extends Omit<ExampleOptions, "weightOf"> {
  folder: string;
  tokenizer: Tokenizer;
  /** Weight of segments by tag; 1 where a tag is not named. */
  weights?: Record<string, number>;
  /** Where the trajectories came from, for the manifest. @internal */
  inputs?: readonly Lineage[];
  /** What people decided about the chains (`readAnnotations`): dropped ones are left out, edited ones have their new words. @internal */
  annotations?: ChainVerdicts;
  /** Profiles that edits are checked against, by name; a chain's own comes first. The built-in ones by default. @internal */
  profiles?: NamedProfiles;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

/** Turns trajectories into a dataset folder, one at a time. */
export async function buildDataset(
  trajectories: AsyncIterable<Trajectory> | Iterable<Trajectory>,
  options: BuildDatasetOptions,
): Promise<DatasetManifest> {
  checkOptions("buildDataset", options);
  const { folder, tokenizer, weights, maxTokens, overlong = "drop", endOfTurn = true } = options;
  const weightOf = weights && ((segment: { tag: string }) => weights[segment.tag] ?? 1);
  const manifest: DatasetManifest = {
    version: 1,
    examples: 0,
    trajectories: 0,
    dropped: {},
    cut: 0,
    tokens: { all: 0, trained: 0, prompt: 0, longest: 0 },
    profiles: {},
    vocabularySize: tokenizer.vocabularySize,
    options: { overlong, endOfTurn, ...(maxTokens !== undefined && { maxTokens }), ...(weights && { weights }) },
    fingerprint: "",
  };
  const hash = createHash("sha256");
  const annotations = annotationApplier(options.annotations ?? new Map(), options.profiles);
  await writeFolder(folder, async (temporary) => {
    const examples = await openJsonl<TrainingSequence>(join(temporary, "examples.jsonl"), { lock: false });
    const dropped = await openJsonl(join(temporary, "dropped.jsonl"), { lock: false });
    const drop = async (record: SequenceResult["dropped"] & {}) => {
      manifest.dropped[record.reason] = (manifest.dropped[record.reason] ?? 0) + 1;
      await dropped.append(record);
    };
    try {
      for await (const given of trajectories) {
        options.signal?.throwIfAborted();
        manifest.trajectories++;
        const { chain: trajectory, dropped: inReview } = annotations.apply(given);
        if (!trajectory) {
          await drop({ id: given.id, reason: "review", detail: inReview });
          continue;
        }
        const results = trajectoryToSequences(trajectory, tokenizer, { maxTokens, overlong, endOfTurn, weightOf });
        const sequences = results.flatMap(({ sequence }) => sequence ?? []);
        // Of a chain in several contexts, one in which the model wrote nothing is no loss.
        const lost = results.flatMap((result) => result.dropped ?? []);
        const losses = sequences.length === 0 ? lost.slice(0, 1) : lost.filter(({ reason }) => reason === "overlong");
        for (const loss of losses) await drop(loss);
        if (sequences.length === 0) continue;
        manifest.chains = chainsWith(manifest.chains, trajectory);
        const right = trajectory.decisions?.find(({ stage }) => stage === "correctness")?.detail;
        if (right !== undefined) manifest.right = { ...manifest.right, [right]: (manifest.right?.[right] ?? 0) + 1 };
        for (const sequence of sequences) {
          countExample(manifest, sequence);
          hash.update(`${JSON.stringify(sequence)}\n`);
          await examples.append(sequence);
        }
        if (manifest.examples % 200 === 0) {
          options.onProgress?.({
            stage: "dataset",
            done: manifest.trajectories,
            figures: { examples: manifest.examples },
          });
        }
      }
    } finally {
      await Promise.all([examples.close(), dropped.close()]);
    }
    if (manifest.examples === 0) {
      const reasons = Object.entries(manifest.dropped).map(([reason, count]) => `${reason} ${count}`);
      throw new CoaError(
        "storage",
        `no example came out of ${manifest.trajectories} trajectories${reasons.length > 0 ? ` (${reasons.join(", ")})` : ""}; nothing was written`,
      );
    }
    if (options.annotations) manifest.annotations = annotations.report();
    manifest.fingerprint = hash.digest("hex");
    await tokenizer.save(join(temporary, "tokenizer"));
    const { examples: count, options: configuration, tokens: figures } = manifest;
    const inputs = [...(options.inputs ?? [])];
    const claimed = await claimFolder(temporary, { kind: "dataset", configuration, inputs }, { lock: false });
    await claimed.report({ state: "done", done: count, total: count, figures });
    await writeFile(join(temporary, "dataset.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  });
  return manifest;
}

export interface Dataset {
  manifest: DatasetManifest;
  tokenizer(): Promise<Tokenizer>;
  sequences(): AsyncIterable<TrainingSequence>;
}

/** Opens a dataset folder; examples are streamed. */
export async function openDataset(folder: string): Promise<Dataset> {
  const source = await currentFolder(folder);
  const manifest = await readJsonAs(join(source, "dataset.json"), datasetManifestSchema, "a dataset's");
  if (!manifest) throw new CoaError("storage", `${folder} is not a dataset: it has no dataset.json`);
  return {
    manifest,
    tokenizer: () => loadTokenizer(join(source, "tokenizer")),
    sequences: () => readJsonl(join(source, "examples.jsonl"), trainingSequenceSchema),
  };
}

/** How the chains are written, now that one more was seen. */
function chainsWith(before: DatasetManifest["chains"], { prompt, language }: Trajectory): DatasetManifest["chains"] {
  const question = prompt.some(({ role }) => role === "system") ? "system-prompt" : "bare";
  if (!before) return { question, ...(language && { language }) };
  return before.question === question ? before : { ...before, question: "mixed" };
}

function countExample(manifest: DatasetManifest, sequence: TrainingSequence): void {
  manifest.examples++;
  if (sequence.cutSegments > 0) manifest.cut++;
  manifest.tokens.all += sequence.tokens.length;
  manifest.tokens.prompt += sequence.promptLength;
  manifest.tokens.trained += trainedTokens(sequence);
  manifest.tokens.longest = Math.max(manifest.tokens.longest, sequence.tokens.length);
  manifest.profiles[sequence.profile] = (manifest.profiles[sequence.profile] ?? 0) + 1;
}
