/** Texts as sets of word sequences, hashed to whole numbers: used to measure overlap, contamination and similarity. */

/** The words of a text, lower case; punctuation and white space do not count. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Hash of a string (FNV-1a over UTF-16 units), as an unsigned 32-bit number. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Hashes of all sequences of `size` words; a shorter text is one sequence. */
export function gramsOf(words: readonly string[], size: number): Uint32Array {
  if (words.length === 0) return new Uint32Array(0);
  const hashes = words.map((word) => hashOf(word));
  const length = Math.min(size, words.length);
  const grams = new Uint32Array(words.length - length + 1);
  for (let start = 0; start < grams.length; start++) {
    let gram = 0x811c9dc5;
    for (let i = 0; i < length; i++) gram = Math.imul(gram ^ hashes[start + i]!, 0x01000193) ^ (gram >>> 15);
    grams[start] = gram >>> 0;
  }
  return grams;
}
