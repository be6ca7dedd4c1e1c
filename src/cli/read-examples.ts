/** The examples of a dataset folder, for a model that must know its vocabulary. */

import type { Example } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { openDataset } from "../dataset/dataset-folder.ts";
import { sequenceToExample } from "../dataset/training-sequence.ts";

export type OpenedDataset = Awaited<ReturnType<typeof openDataset>>;

export async function readExamples(dataset: OpenedDataset): Promise<Example[]> {
  const examples: Example[] = [];
  for await (const sequence of dataset.sequences()) examples.push(sequenceToExample(sequence));
  return examples;
}

/** Refuses a dataset whose ids or lengths are not the model's. */
export function assertFits(
  { manifest }: OpenedDataset,
  model: { tokenizer: Tokenizer; maxContext: number; name: string | undefined },
): void {
  const { tokenizer, maxContext, name } = model;
  if (manifest.tokens.longest > maxContext)
    throw new UsageError(
      `the longest example has ${manifest.tokens.longest} tokens, the model's context is ${maxContext}: build the dataset with --max-tokens ${maxContext}`,
    );
  if (tokenizer.vocabularySize !== manifest.vocabularySize)
    throw new UsageError(
      `the dataset was made with a vocabulary of ${manifest.vocabularySize}, the model has ${tokenizer.vocabularySize}: build the dataset with --tokenizer ${name}`,
    );
}
