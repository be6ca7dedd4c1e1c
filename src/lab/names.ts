/**
 * Names that stand in no other text. A word is a number written in syllables, and every pair of seed and split has its own
 * block of numbers, so no two seeds, and no two splits, ever share an entity's name. This is guaranteed by arithmetic.
 * Blocks of three-syllable words come first; seeds beyond them, and very large worlds, take longer words. A person is a
 * first name from a small common stock and a last name that is such a word.
 *
 * Numbers are split too: a number belongs to training or to testing by its hash, whatever the seed.
 */

import { hashText, seededRandom } from "../base/work/random.ts";
import { UsageError } from "../core/errors.ts";

/** Training worlds and test worlds share neither names nor numbers. */
export type Split = "train" | "test";

const consonants = [..."bdfghjklmnprstvz"];
const vowels = [..."aeiou"];
const syllables = consonants.flatMap((consonant) => vowels.map((vowel) => consonant + vowel));

/** Random syllables sometimes spell words that offend. */
const unwelcome = /nig[aeiou]|fag[ao]|put[ao]|rape|pedo|nazi|kike|kaka|pipi|popo|dike/;

/** How many words of each length one seed and split own. */
const blocks = [
  { length: 3, words: 800 },
  { length: 4, words: 1_000 },
  { length: 5, words: 60_000 },
] as const;

/** Seeds are whole numbers below this: so many blocks there are. */
export const seedCount = Math.floor(syllables.length ** 4 / 2 / 1_000);

/** Seeds below this have names of three syllables: the ones to train and test small models with. */
export const shortNameSeeds = Math.floor(syllables.length ** 3 / 2 / 800);

/** The words that one seed and split own, without end until their longest block is used up; the variant orders them. */
export function* ownWords(seed: number, split: Split, variant = 0): Generator<string> {
  if (!Number.isInteger(seed) || seed < 0 || seed >= seedCount) {
    throw new UsageError(`a world's seed is a whole number from 0 to ${seedCount - 1}, not ${seed}`);
  }
  for (const { length, words } of blocks) {
    const space = syllables.length ** length;
    const start = (seed * 2 + (split === "test" ? 1 : 0)) * words;
    if (start + words > space) continue;
    const order = seededRandom("words", seed, split, variant, length).shuffle([...Array(words).keys()]);
    for (const offset of order) {
      const word = spell(start + offset, length);
      if (!unwelcome.test(word)) yield capitalised(word);
    }
  }
  throw new UsageError("the world is too large: its seed has no names left; ask for fewer pages");
}

/** Writes a number below 80^length in syllables, one to one, so that neighbouring numbers look unrelated. */
function spell(number: number, length: number): string {
  const digits: number[] = [];
  for (let rest = number, place = 0; place < length; place++) {
    digits.push(rest % syllables.length);
    rest = Math.floor(rest / syllables.length);
  }
  // Each digit is turned by the ones already written: invertible one digit after the other, in both directions.
  for (let round = 0; round < 2; round++) {
    for (let place = 0; place < length; place++) {
      const before = digits[(place + length - 1) % length]!;
      digits[place] = (digits[place]! + hashText(`${round}:${place}:${before}`)) % syllables.length;
    }
  }
  return digits.map((digit) => syllables[digit]!).join("");
}

function capitalised(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}

/** First names, common to all worlds: a full name is told apart by its last name. */
export const firstNames: readonly string[] = [
  ...new Set(
    seededRandom("first names")
      .shuffle(syllables.flatMap((first) => syllables.map((second) => first + second)))
      .filter((name) => !unwelcome.test(name))
      .slice(0, 120)
      .map(capitalised),
  ),
];

/** Which split a number belongs to: one in five is kept for tests. */
export function numberSplit(number: number): Split {
  return hashText(`number ${number}`) % 5 === 0 ? "test" : "train";
}

/** A random number of the split, both ends included. */
export function splitNumber(random: { below(bound: number): number }, split: Split, min: number, max: number): number {
  for (;;) {
    const number = min + random.below(max - min + 1);
    if (numberSplit(number) === split) return number;
  }
}
