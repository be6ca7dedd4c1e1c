/**
 * Where training batches come from. A source is a function of the step and nothing else: asked twice for step 7 it gives
 * the same batch, which is what makes a resumed run equal to an uninterrupted one. Files, generators of fresh worlds
 * and copy tasks are all sources.
 */
import { createHash } from "node:crypto";
import { seededRandom } from "../base/work/random.ts";
import type { Example } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";

export interface ExampleSource {
  /** The batch of this step (0-based). */
  batch(step: number): Promise<Example[]> | Example[];
  /** Changes when the data does; written into the run folder. */
  readonly fingerprint: string;
}

/**
 * Batches of about `tokensPerBatch` tokens from a fixed set, shuffled again each epoch. Short and long examples are
 * mixed: a batch of one kind only would pull the weights towards that kind. The engine handles padding: it groups the
 * examples of a batch by length itself.
 */
export function fixedExamples(
  examples: readonly Example[],
  tokensPerBatch: number,
  seed: number,
): ExampleSource & { stepsPerEpoch: number } {
  if (examples.length === 0) throw new CoaError("format", "the dataset is empty: nothing to train on");
  const tokens = examples.reduce((sum, example) => sum + example.input.length, 0);
  const size = Math.max(1, Math.round((tokensPerBatch * examples.length) / tokens));
  const stepsPerEpoch = Math.ceil(examples.length / size);
  let current: { epoch: number; order: Example[] } | null = null;
  const orderOf = (epoch: number): Example[] => {
    if (current?.epoch !== epoch) current = { epoch, order: seededRandom(seed, "epoch", epoch).shuffle(examples) };
    return current.order;
  };
  return {
    stepsPerEpoch,
    fingerprint: fingerprintOf(examples),
    batch(step) {
      const at = (step % stepsPerEpoch) * size;
      return orderOf(Math.floor(step / stepsPerEpoch)).slice(at, at + size);
    },
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
