/**
 * The dictionary of a saved index: all terms as one run of UTF-8 bytes and a hash table of term numbers, both plain
 * arrays, so that loading is reading and a million terms make no million strings.
 */
export interface TermTable {
  bytes: Uint8Array;
  /** Where each term's bytes start; one more entry for the end. */
  starts: Uint32Array; // [term + 1]
  /** Open addressing, linear probing; 0 is empty, otherwise term number + 1. The size is a power of two. */
  slots: Uint32Array; // [slot]
}

/** Packs terms (numbered in the map's order) into a table. */
export function packTerms(terms: ReadonlyMap<string, number>): TermTable {
  const encoder = new TextEncoder();
  let size = 0;
  for (const term of terms.keys()) size += Buffer.byteLength(term);
  const bytes = new Uint8Array(size);
  const starts = new Uint32Array(terms.size + 1); // [term + 1]
  let capacity = 16;
  while (capacity < terms.size * 2) capacity *= 2;
  const slots = new Uint32Array(capacity); // [slot]
  let at = 0;
  for (const [term, number] of terms) {
    const { written } = encoder.encodeInto(term, bytes.subarray(at));
    let slot = hashOf(bytes, at, at + written) & (capacity - 1);
    while (slots[slot] !== 0) slot = (slot + 1) & (capacity - 1);
    slots[slot] = number + 1;
    starts[number] = at;
    at += written;
  }
  starts[terms.size] = at;
  return { bytes, starts, slots };
}

/** The number of a term, or undefined when no document holds it. */
export function findTerm(table: TermTable, term: string): number | undefined {
  const { bytes, starts, slots } = table;
  const wanted = Buffer.from(term, "utf8");
  const mask = slots.length - 1;
  let slot = hashOf(wanted, 0, wanted.length) & mask;
  for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
    const number = slots[slot]! - 1;
    const start = starts[number]!;
    if (starts[number + 1]! - start !== wanted.length) continue;
    let same = 0;
    while (same < wanted.length && bytes[start + same] === wanted[same]) same++;
    if (same === wanted.length) return number;
  }
  return undefined;
}

/** FNV-1a over a range of bytes. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
