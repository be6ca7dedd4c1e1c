/**
 * Where training batches come from. A source is a function of the step and nothing else: asked twice for step 7 it gives
 * the same batch, which is what makes a resumed run equal to an uninterrupted one. Files, generators of fresh worlds
 * and drills are all sources.
 */
import { createHash } from "node:crypto";
import { CoaError } from "../core/errors.ts";
import type { Example } from "../core/example.ts";
import { lengthBuckets } from "../dataset/batches.ts";
import { derivedSeed } from "./random.ts";

export interface ExampleSource {
  /** The batch of this step (0-based). */
  batch(step: number): Promise<Example[]> | Example[];
  /** Changes when the data does; written into the run folder. */
  readonly fingerprint: string;
}

/** Batches of about `tokensPerBatch` tokens from a fixed set, shuffled anew each epoch, similar lengths together. */
export function fixedExamples(
  examples: readonly Example[],
  tokensPerBatch: number,
  seed: number,
): ExampleSource & { stepsPerEpoch: number } {
  if (examples.length === 0) throw new CoaError("format", "the dataset is empty: nothing to train on");
  const epochs = new Map<number, Example[][]>();
  const epochBatches = (epoch: number): Example[][] => {
    const known = epochs.get(epoch);
    if (known) return known;
    // One window over all lengths: the cuts then depend on the lengths alone, and every epoch has equally many batches.
    const options = { maxTokens: tokensPerBatch, seed: derivedSeed(seed, "epoch", epoch), window: examples.length };
    const batches = lengthBuckets(
      examples.map((example) => example.input.length),
      options,
    ).map((indices) => indices.map((index) => examples[index]!));
    epochs.clear();
    epochs.set(epoch, batches);
    return batches;
  };
  const stepsPerEpoch = epochBatches(0).length;
  return {
    stepsPerEpoch,
    fingerprint: fingerprintOf(examples),
    batch: (step) => epochBatches(Math.floor(step / stepsPerEpoch))[step % stepsPerEpoch] ?? [],
  };
}

function fingerprintOf(examples: readonly Example[]): string {
  const hash = createHash("sha256");
  for (const { input, targets, weights } of examples) {
    hash.update(new Uint8Array(input.buffer, input.byteOffset, input.byteLength));
    hash.update(new Uint8Array(targets.buffer, targets.byteOffset, targets.byteLength));
    if (weights) hash.update(new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength));
  }
  return hash.digest("hex").slice(0, 16);
}
