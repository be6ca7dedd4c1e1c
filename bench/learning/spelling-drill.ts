/**
 * Copying words letter by letter, before programs are taught. A word after a space and the same word in quotes or on a line of its own have
 * other tokens, so a model that copies tokens can't copy such a word; here it sees letters and words named, and has to write them in a
 * call, in quotes and as input. Only what is written again counts.
 */

import { type SeededRandom, seededRandom } from "../../src/base/work/random.ts";
import type { Example } from "../../src/core/engine.ts";
import type { Tokenizer } from "../../src/core/tokenizer.ts";
import type { ExampleSource } from "../../src/train/example-source.ts";

const letters = [..."abcdefghijklmnopqrstuvwxyz"];

/** An endless source of such examples, the same for the same seed and step. */
export function spellingDrill(
  tokenizer: Tokenizer,
  options: { tokensPerBatch: number; length: number; seed: number },
): ExampleSource {
  const { tokensPerBatch, length, seed } = options;
  const example = (random: SeededRandom): Example => {
    const tokens: number[] = [];
    const weights: number[] = [];
    const write = (text: string, weight = 0) => {
      const ids = tokenizer.encode(text);
      tokens.push(...ids);
      weights.push(...ids.map(() => weight));
    };
    const word = (most: number) => Array.from({ length: 1 + random.below(most) }, () => random.pick(letters)).join("");
    while (tokens.length <= length) {
      const [letter, named] = [random.pick(letters), word(6)];
      write(
        ` without ${letter}, then ${random.pick(["reversed", "in capitals"])}. Example: ${named} gives ${word(8)}.`,
      );
      for (let again = 1 + random.below(3); again > 0; again--) {
        const [before, copied, after] = random.pick([
          ["\ns.replace('", letter, "', '')"],
          ["\nprint(f('", named, "'))"],
          ["\n```sh\n", named, "\n```"],
        ]);
        write(before!);
        write(copied!, 1);
        write(after!);
      }
    }
    return {
      input: Int32Array.from(tokens.slice(0, length)),
      targets: Int32Array.from(tokens.slice(1, length + 1)),
      weights: Float32Array.from(weights.slice(1, length + 1)),
    };
  };
  return {
    fingerprint: `spelling-${seed}-${length}-${tokensPerBatch}`,
    batch: (step) =>
      Array.from({ length: Math.max(1, Math.round(tokensPerBatch / length)) }, (_, at) =>
        example(seededRandom(seed, "spelling", step, at)),
      ),
  };
}
