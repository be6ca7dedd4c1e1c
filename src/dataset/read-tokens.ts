/** The tokens of a chain as training sees them: who wrote each, how much it counts, and its text. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../core/json-value.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { type Trajectory, writtenForm } from "../core/trajectory.ts";
import { type DatasetManifest, datasetManifestSchema } from "./dataset-folder.ts";
import { pieceText } from "./inspect-sequence.ts";
import { tokenizeTrajectory } from "./tokenize-trajectory.ts";
import { type TrainingSequence, weightsOf } from "./training-sequence.ts";
import { trajectoryToSequence } from "./trajectory-to-example.ts";

/** Tokens with their weights: those of the dataset's own line where one is given, else as a dataset would be built. */
export function readTokens(trajectory: Trajectory, tokenizer: Tokenizer, example?: TrainingSequence) {
  const { owners, promptLength, tokens: encoded } = tokenizeTrajectory(trajectory, tokenizer);
  const sequence = example ?? trajectoryToSequence(trajectory, tokenizer).sequence;
  const tokens = sequence?.tokens ?? encoded;
  const weights = sequence ? [...weightsOf(sequence)] : tokens.map(() => 0);
  return {
    tokens,
    /** Index of the segment of each token; -1 for the prompt, one past the last for the end of the turn. */
    owners: tokens.map((_, index) => owners[index] ?? trajectory.segments.length),
    weights,
    pieces: tokens.map((token) => pieceText(tokenizer.tokenBytes(token))),
    promptLength,
  };
}

/** Whether a tokenizer is the one that a chain's ids were written with: it gives back the texts. */
export function fitsTokenizer({ segments }: Pick<Trajectory, "segments">, tokenizer: Tokenizer): boolean {
  return segments
    .filter((segment) => segment.tokens !== undefined)
    .slice(0, 8)
    .every(({ tokens = [], ...segment }) => {
      if (tokens.some((token) => token >= tokenizer.vocabularySize)) return false;
      return tokenizer.decode(tokens).trim() === writtenForm(segment).trim();
    });
}

export { type TrainingSequence, trainingSequenceSchema } from "./training-sequence.ts";

/** The `dataset.json` of a folder; undefined where there is none that can be read. */
export async function readDatasetManifest(folder: string): Promise<DatasetManifest | undefined> {
  const text = await readFile(join(folder, "dataset.json"), "utf8").catch(() => undefined);
  return datasetManifestSchema.safeParse(parseJson(text)).data;
}

export type { DatasetManifest } from "./dataset-folder.ts";
