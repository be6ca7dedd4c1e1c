/**
 * Near-duplicates by MinHash: a chain is reduced to 128 numbers such that two chains agree in about as many of them as
 * their sets of word sequences overlap. Chains that agree in a whole band of numbers are compared; everything is held in
 * flat arrays, about a kilobyte a chain.
 */
import type { Trajectory } from "../../core/trajectory.ts";
import { gramsOf, wordsOf } from "./word-grams.ts";

const size = 128;
const bandRows = 8;
const bands = size / bandRows;

/** The signature of a chain: of the question and of everything the model wrote. */
export function signatureOf(trajectory: Trajectory): Uint32Array {
  const user = trajectory.prompt.filter((message) => message.role === "user").map((message) => message.content);
  const written = trajectory.segments.filter((segment) => segment.by === "model").map((segment) => segment.text);
  const signature = new Uint32Array(size).fill(0xffffffff);
  for (const gram of new Set(gramsOf(wordsOf([...user, ...written].join(" ")), 3))) {
    // One multiplication per place gives a family of hash functions that is good enough for an estimate.
    let mixed = gram;
    for (let place = 0; place < size; place++) {
      mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b + 2 * place) >>> 0;
      const value = (mixed ^ (mixed >>> 13)) >>> 0;
      if (value < signature[place]!) signature[place] = value;
    }
  }
  return signature;
}

export interface DuplicateIndex {
  /** The number of an earlier chain that is as similar as asked; otherwise the chain is added and undefined comes back. */
  findOrAdd(signature: Uint32Array, number: number): { number: number; similarity: number } | undefined;
  readonly size: number;
  /** How similar two chains must be to count as one. */
  readonly minSimilarity: number;
}

/** An index of the chains kept so far. */
export function duplicateIndex(minSimilarity: number): DuplicateIndex {
  let signatures = new Uint32Array(size * 1024);
  let numbers = new Uint32Array(1024);
  let count = 0;
  const tables = Array.from({ length: bands }, () => new Map<number, number | number[]>());
  const bandKey = (signature: Uint32Array, offset: number, band: number) => {
    let key = 0x811c9dc5;
    for (let row = 0; row < bandRows; row++) {
      key = Math.imul(key ^ signature[offset + band * bandRows + row]!, 0x01000193) ^ (key >>> 15);
    }
    return key >>> 0;
  };
  const similarity = (signature: Uint32Array, place: number) => {
    let equal = 0;
    for (let i = 0; i < size; i++) if (signature[i] === signatures[place * size + i]) equal++;
    return equal / size;
  };
  return {
    minSimilarity,
    get size() {
      return count;
    },
    findOrAdd(signature, number) {
      const compared = new Set<number>();
      for (let band = 0; band < bands; band++) {
        const found = tables[band]!.get(bandKey(signature, 0, band));
        for (const place of found === undefined ? [] : typeof found === "number" ? [found] : found) {
          if (compared.has(place)) continue;
          compared.add(place);
          const alike = similarity(signature, place);
          if (alike >= minSimilarity) return { number: numbers[place]!, similarity: alike };
        }
      }
      if (count === numbers.length) {
        signatures = grown(signatures);
        numbers = grown(numbers);
      }
      signatures.set(signature, count * size);
      numbers[count] = number;
      for (let band = 0; band < bands; band++) {
        const table = tables[band]!;
        const key = bandKey(signature, 0, band);
        const there = table.get(key);
        if (there === undefined) table.set(key, count);
        else if (typeof there === "number") table.set(key, [there, count]);
        // A crowded bucket holds chains of one template; comparing with the first hundred is enough to find copies.
        else if (there.length < 100) there.push(count);
      }
      count++;
      return undefined;
    },
  };
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
