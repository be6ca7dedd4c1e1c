/**
 * Collects postings document by document and turns them round once at the end (a counting sort by term), so memory
 * stays at about twelve bytes per posting while building and six after. Texts are not kept.
 */
import { lengthNorms } from "./postings.ts";
import { forEachTerm } from "./tokenize.ts";

export interface IndexOptions {
  /** Saturation of term frequency; Lucene's default 1.2. */
  k1?: number;
  /** Strength of length normalisation; Lucene's default 0.75. */
  b?: number;
  /** The title counts as if it were repeated this many times before the text (a whole number; 0 leaves it out). */
  titleBoost?: number;
}

const largestChunk = 1 << 20;

/** A builder of postings; options are explained in `IndexOptions`. */
export function postingsBuilder(options: IndexOptions = {}) {
  const { k1 = 1.2, b = 0.75, titleBoost = 1 } = options;
  if (!Number.isInteger(titleBoost) || titleBoost < 0 || titleBoost > 1000)
    throw new RangeError(`titleBoost must be a whole number from 0 to 1000, got ${titleBoost}`);
  const terms = new Map<string, number>();
  const chunks: { terms: Uint32Array; frequencies: Uint16Array; used: number }[] = [];
  const lengths: number[] = []; // [document]
  const distinct: number[] = []; // [document], postings of each document
  const documentFrequencies: number[] = []; // [term]
  const lastDocument: number[] = []; // [term]
  const slots: number[] = []; // [term], where the term stands in the current document's postings
  const current: { term: number; frequency: number }[] = [];
  const pool: { term: number; frequency: number }[] = [];
  let length = 0;
  let weight = 1;

  const emit = (text: string): void => {
    let term = terms.get(text);
    const document = lengths.length;
    if (term === undefined) {
      // A slice keeps its whole text alive; the copy lets the text go.
      term = terms.size;
      terms.set(copyOf(text), term);
      documentFrequencies.push(0);
      lastDocument.push(-1);
      slots.push(0);
    }
    length += weight;
    if (lastDocument[term] === document) {
      current[slots[term]!]!.frequency += weight;
      return;
    }
    lastDocument[term] = document;
    documentFrequencies[term] = documentFrequencies[term]! + 1;
    const slot = current.length;
    slots[term] = slot;
    const posting = pool[slot] ?? { term, frequency: weight };
    posting.term = term;
    posting.frequency = weight;
    pool[slot] = posting;
    current.push(posting);
  };

  return {
    add({ title, text }: { title?: string; text: string }) {
      if (title && titleBoost > 0) {
        weight = titleBoost;
        forEachTerm(title, emit);
        weight = 1;
      }
      forEachTerm(text, emit);
      for (const { term, frequency } of current) {
        let chunk = chunks.at(-1);
        if (!chunk || chunk.used === chunk.terms.length) {
          const size = Math.min(largestChunk, chunk ? chunk.terms.length * 2 : 1024);
          chunk = { terms: new Uint32Array(size), frequencies: new Uint16Array(size), used: 0 };
          chunks.push(chunk);
        }
        chunk.terms[chunk.used] = term;
        chunk.frequencies[chunk.used++] = Math.min(frequency, 65_535);
      }
      lengths.push(length);
      distinct.push(current.length);
      current.length = 0;
      length = 0;
    },

    /** Everything added so far, and the terms' numbers. The builder is spent afterwards. */
    finish() {
      const termCount = terms.size;
      const offsets = new Uint32Array(termCount + 1); // [term + 1]
      for (let term = 0; term < termCount; term++) offsets[term + 1] = offsets[term]! + documentFrequencies[term]!;
      const total = offsets[termCount]!;
      const documents = new Uint32Array(total); // [posting]
      const frequencies = new Uint16Array(total); // [posting]
      const bounds = new Float32Array(termCount); // [term]
      const documentLengths = Uint32Array.from(lengths); // [document]
      const norms = lengthNorms(documentLengths, k1, b);
      const next = offsets.slice(0, termCount); // [term]
      let chunkIndex = 0;
      let position = 0;
      for (let document = 0; document < distinct.length; document++) {
        for (let left = distinct[document]!; left > 0; left--) {
          let chunk = chunks[chunkIndex]!;
          if (position === chunk.used) {
            chunks[chunkIndex++] = { terms: new Uint32Array(0), frequencies: new Uint16Array(0), used: 0 };
            chunk = chunks[chunkIndex]!;
            position = 0;
          }
          const term = chunk.terms[position]!;
          const frequency = chunk.frequencies[position++]!;
          const at = next[term]!;
          next[term] = at + 1;
          documents[at] = document;
          frequencies[at] = frequency;
          // Rounded up a little: a bound may be slightly too high, never too low.
          const impact = (frequency / (frequency + norms[document]!)) * 1.000_001;
          if (impact > bounds[term]!) bounds[term] = impact;
        }
      }
      const documentCount = distinct.length;
      const postings = {
        documentCount,
        termCount,
        offsets,
        documents,
        frequencies,
        lengths: documentLengths,
        bounds,
        k1,
        b,
      };
      return { postings, terms };
    },
  };
}

function copyOf(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
