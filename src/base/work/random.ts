/**
 * Repeatable randomness: one generator (mulberry32) and one way to derive seeds. A stream is named by its parts, so that
 * step 7 draws the same numbers whether or not step 6 ran in this process, on any machine.
 */
import { createHash } from "node:crypto";

/** A stream of random numbers that its seed fixes. */
export interface SeededRandom {
  /** In [0, 1), 32 bits. */
  next(): number;
  normal(): number;
  /** A whole number in [0, bound). */
  below(bound: number): number;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
}

/** Random numbers fixed by the parts of a seed; a single number is the state itself, anything else is hashed. */
export function seededRandom(...parts: readonly (string | number)[]): SeededRandom {
  const [only] = parts;
  let state = parts.length === 1 && typeof only === "number" ? only | 0 : hashText(parts.join("\u0000"));
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()), // Box-Muller
    pick: (items) => items[below(items.length)]!,
    shuffle(items) {
      const copy = [...items];
      for (let index = copy.length - 1; index > 0; index--) {
        const other = below(index + 1);
        [copy[index], copy[other]] = [copy[other]!, copy[index]!];
      }
      return copy;
    },
  };
}

/** A whole number below 2^31 for seeding anything else, fixed by the parts; near parts give unrelated seeds. */
export function derivedSeed(...parts: readonly (string | number)[]): number {
  return createHash("sha256").update(parts.join("\n")).digest().readUInt32BE(0) & 0x7fffffff;
}

/** The seed of one sample of one task: the same whatever ran before it, in every stage. */
export function sampleSeed(seed: number, taskId: string, sample: number): number {
  return derivedSeed(seed, taskId, sample);
}

/** A well-mixed 32-bit number of a text (FNV-1a with murmur's finish). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
