/** One check of an engine, and what checks are made of: examples, distributions, comparisons. */
import assert from "node:assert/strict";
import { seededRandom } from "../base/work/random.ts";
import type { Engine, Example, LossSpec } from "../core/engine.ts";

const imitation: LossSpec = { name: "cross_entropy" };

/** A check's body: it gets a fresh engine (closed afterwards), the maker for more, and the tolerance. */
export type EngineCheck = (engine: Engine, context: { make(): Promise<Engine>; tolerance: number }) => Promise<void>;

/** Random examples within the engine's vocabulary and window. */
export function batchFor({ capabilities }: Engine, seed: number): Example[] {
  const random = seededRandom(seed, "conformance");
  return [5, 9, 3].map((length) => {
    const tokens = Int32Array.from({ length: length + 1 }, () => random.below(capabilities.vocabularySize));
    return {
      input: tokens.slice(0, -1),
      targets: tokens.slice(1),
      weights: Float32Array.from({ length }, () => 0.2 + random.next()),
    };
  });
}

/** Log-probabilities of all possible next tokens after a context. */
export async function distribution(engine: Engine, context: number[], temperature?: number): Promise<number[]> {
  const examples = Array.from({ length: engine.capabilities.vocabularySize }, (_, token) => ({
    input: Int32Array.from(context),
    targets: Int32Array.from([...context.slice(1), token]),
    weights: new Float32Array(context.length).fill(1),
  }));
  const { logprobs } = await engine.forward(examples, { ...imitation, ...(temperature ? { temperature } : {}) });
  return logprobs.map((row) => row[context.length - 1]!);
}

/** Log-probabilities of a batch's targets, one after another. */
export async function logprobsOf(engine: Engine, batch: readonly Example[]): Promise<number[]> {
  return (await engine.forward(batch, imitation)).logprobs.flatMap((row) => [...row]);
}

/** Fails unless all numbers agree within the tolerance. */
export function closeTo(actual: readonly number[], expected: readonly number[], tolerance: number, what = ""): void {
  assert.equal(actual.length, expected.length);
  const worst = Math.max(...actual.map((value, at) => Math.abs(value - expected[at]!)));
  assert.ok(worst <= tolerance, `${what} off by ${worst}, more than ${tolerance}`.trim());
}
