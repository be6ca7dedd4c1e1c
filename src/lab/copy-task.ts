/**
 * The copy task: the first thing for a model trained from scratch. Chains are mostly copying (a name from the question
 * into a query, a number from a page into a program), and a small model learns that far faster from pure copying than
 * from chains. An example is random tokens in which earlier passages are repeated, each after the token that came
 * before it; only the repeated tokens count. Offsets and lengths vary: with a fixed offset a model could count
 * positions instead of matching content, and would have learned nothing.
 */

import { type SeededRandom, seededRandom } from "../base/work/random.ts";
import type { Example } from "../core/engine.ts";
import type { ExampleSource } from "../train/example-source.ts";

export interface CopyTaskOptions {
  /** Ids that examples are made of: ordinary text tokens, no special ones. */
  tokens: readonly number[];
  /** Ids that count as digits; half of the passages are made of these alone, because long numbers are hardest. */
  digits?: readonly number[];
  tokensPerBatch: number;
  length?: number;
  seed: number;
}

/** An endless source of examples, the same for the same seed and step. */
export function copyTask(options: CopyTaskOptions): ExampleSource {
  const length = options.length ?? 128;
  const count = Math.max(1, Math.round(options.tokensPerBatch / length));
  return {
    fingerprint: `drills-${options.seed}-${options.tokens.length}-${length}-${options.tokensPerBatch}`,
    batch(step) {
      return Array.from({ length: count }, (_, at) =>
        copyExample(options, length, seededRandom(options.seed, "drill", step, at)),
      );
    },
  };
}

function copyExample(options: CopyTaskOptions, length: number, random: SeededRandom): Example {
  const { pick } = random;
  const sequence: number[] = [];
  const weights: number[] = [];
  const passages: number[][] = [];
  while (sequence.length <= length) {
    const again = passages.length > 0 && random.next() < 0.5;
    if (again) {
      // The passage's first token is the cue and can't be foreseen; the rest can be copied.
      const [cue, ...rest] = pick(passages) as [number, ...number[]];
      sequence.push(cue, ...rest);
      weights.push(0, ...rest.map(() => 1));
    } else {
      const alphabet = options.digits?.length && random.next() < 0.5 ? options.digits : options.tokens;
      const passage = [pick(options.tokens), ...Array.from({ length: 2 + random.below(7) }, () => pick(alphabet))];
      passages.push(passage);
      sequence.push(...passage);
      weights.push(...passage.map(() => 0));
    }
  }
  return {
    input: Int32Array.from(sequence.slice(0, length)),
    targets: Int32Array.from(sequence.slice(1, length + 1)),
    weights: Float32Array.from(weights.slice(1, length + 1)),
  };
}

/** Sources one after the other: `steps` of the first, then the next; the last one has no end. */
export function inSequence(parts: readonly { source: ExampleSource; steps: number }[]): ExampleSource {
  return {
    fingerprint: parts.map(({ source, steps }) => `${source.fingerprint}x${steps}`).join("+"),
    batch(step) {
      let left = step;
      for (const { source, steps } of parts.slice(0, -1)) {
        if (left < steps) return source.batch(left);
        left -= steps;
      }
      return parts.at(-1)!.source.batch(left);
    },
  };
}
