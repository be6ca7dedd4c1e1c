/**
 * Postings and the BM25 search over them. The score is Lucene's (since version 8):
 * `ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / averageLength))`, with exact lengths where
 * Lucene rounds them to a byte. Terms are taken rarest first. What the k-th best document is sure to reach grows on the
 * way, and documents that can't reach it any more are dropped or never taken up; the result is exactly that of scoring
 * everything.
 */
export interface Postings {
  documentCount: number;
  termCount: number;
  /** Where each term's list starts; one more entry for the end. */
  offsets: Uint32Array; // [term + 1]
  documents: Uint32Array; // [posting], ascending within a list
  frequencies: Uint16Array; // [posting]
  /** Terms per document, a title counted as often as it is boosted. */
  lengths: Uint32Array; // [document]
  /** An upper bound of tf / (tf + norm) over a term's list. */
  bounds: Float32Array; // [term]
  k1: number;
  b: number;
}

export interface ScoredDocument {
  document: number;
  score: number;
}

/** Lucene's inverse document frequency; never negative. */
function inverseDocumentFrequency(documentCount: number, documentFrequency: number): number {
  return Math.log(1 + (documentCount - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

/** Per document `k1 * (1 - b + b * length / averageLength)`. */
export function lengthNorms(lengths: Uint32Array, k1: number, b: number): Float64Array {
  let total = 0;
  for (const length of lengths) total += length;
  const average = total / Math.max(1, lengths.length) || 1;
  const norms = new Float64Array(lengths.length); // [document]
  for (let i = 0; i < lengths.length; i++) norms[i] = k1 * (1 - b + (b * lengths[i]!) / average);
  return norms;
}

interface QueryTerm {
  start: number;
  end: number;
  weight: number;
  /** The most this term can add to any document. */
  bound: number;
}

/** A searcher over postings; it owns scratch memory of 12 bytes per document, so searches don't allocate. */
export function postingsSearcher(postings: Postings): (terms: readonly number[], k: number) => ScoredDocument[] {
  const { documentCount, offsets, documents, frequencies } = postings;
  const norms = lengthNorms(postings.lengths, postings.k1, postings.b);
  const scores = new Float64Array(documentCount); // [document]
  const touched = new Uint32Array(documentCount); // [candidate]

  function queryTerms(terms: readonly number[]): QueryTerm[] {
    const counts = new Map<number, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    const list = [...counts].map(([term, count]): QueryTerm => {
      const start = offsets[term]!;
      const end = offsets[term + 1]!;
      const weight = count * inverseDocumentFrequency(documentCount, end - start);
      return { start, end, weight, bound: weight * postings.bounds[term]! };
    });
    return list.sort((a, b) => b.bound - a.bound || a.end - a.start - (b.end - b.start));
  }

  /** Adds a term's scores to the documents seen so far, and to new ones where it is at least `least`. */
  function addAll(term: QueryTerm, count: number, least: number): number {
    const { start, end, weight } = term;
    for (let i = start; i < end; i++) {
      const document = documents[i]!;
      const frequency = frequencies[i]!;
      const score = (weight * frequency) / (frequency + norms[document]!);
      const before = scores[document]!;
      if (before === 0) {
        if (score < least) continue;
        touched[count++] = document;
      }
      scores[document] = before + score;
    }
    return count;
  }

  /** Adds a term's scores to the candidates by going through the term's list: for many candidates. */
  function addToSeen(term: QueryTerm): void {
    const { start, end, weight } = term;
    for (let i = start; i < end; i++) {
      const document = documents[i]!;
      if (scores[document] === 0) continue;
      const frequency = frequencies[i]!;
      scores[document] = scores[document]! + (weight * frequency) / (frequency + norms[document]!);
    }
  }

  /** What a term adds to one document, found by binary search. */
  function scoreIn(term: QueryTerm, document: number): number {
    let low = term.start;
    let high = term.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (documents[middle]! < document) low = middle + 1;
      else high = middle;
    }
    if (low === term.end || documents[low] !== document) return 0;
    const frequency = frequencies[low]!;
    return (term.weight * frequency) / (frequency + norms[document]!);
  }

  /** A score that the k-th best document is sure to reach: the least complete score of the k best so far. */
  function reachable(list: readonly QueryTerm[], from: number, count: number, k: number): number {
    const best = topK(scores, touched, count, k);
    let least = Number.POSITIVE_INFINITY;
    for (const { document, score } of best) {
      let complete = score;
      for (let t = from; t < list.length; t++) complete += scoreIn(list[t]!, document);
      least = Math.min(least, complete);
    }
    // The margin keeps documents whose score is equal but for rounding.
    return least * (1 - 1e-9);
  }

  /** Drops candidates that can't reach the threshold even with everything that remains. */
  function prune(count: number, threshold: number, remaining: number): number {
    if (threshold <= remaining) return count;
    let kept = 0;
    for (let c = 0; c < count; c++) {
      const document = touched[c]!;
      if (scores[document]! + remaining >= threshold) touched[kept++] = document;
      else scores[document] = 0;
    }
    return kept;
  }

  return (terms, k) => {
    if (k <= 0 || terms.length === 0) return [];
    const list = queryTerms(terms);
    let remaining = list.reduce((sum, term) => sum + term.bound, 0);
    let count = 0;
    let threshold = 0;
    for (const [index, term] of list.entries()) {
      const length = term.end - term.start;
      if (count >= k && length > 256) threshold = Math.max(threshold, reachable(list, index, count, k));
      count = prune(count, threshold, remaining);
      // A document dropped or left out now can't come back: what could still be added to it is below the threshold.
      const rest = remaining - term.bound;
      if (remaining >= threshold) count = addAll(term, count, threshold - rest);
      else if (count * 32 > length) addToSeen(term);
      else for (let c = 0; c < count; c++) scores[touched[c]!] = scores[touched[c]!]! + scoreIn(term, touched[c]!);
      remaining = rest;
    }
    const best = topK(scores, touched, count, k);
    for (let c = 0; c < count; c++) scores[touched[c]!] = 0;
    return best;
  };
}

/** The k-th highest score among candidates (there are at least k). */
function kthBest(scores: Float64Array, touched: Uint32Array, count: number, k: number): number {
  const heap = new Float64Array(k); // smallest first
  for (let c = 0; c < count; c++) {
    const score = scores[touched[c]!]!;
    if (c < k) {
      heap[c] = score;
      if (c === k - 1) heap.sort();
    } else if (score > heap[0]!) {
      // Sift down from the root.
      let i = 0;
      for (;;) {
        let child = 2 * i + 1;
        if (child >= k) break;
        if (child + 1 < k && heap[child + 1]! < heap[child]!) child++;
        if (heap[child]! >= score) break;
        heap[i] = heap[child]!;
        i = child;
      }
      heap[i] = score;
    }
  }
  return heap[0]!;
}

/** The best k candidates, best first; equal scores in document order. */
function topK(scores: Float64Array, touched: Uint32Array, count: number, k: number): ScoredDocument[] {
  const threshold = count > k ? kthBest(scores, touched, count, k) : 0;
  const best: ScoredDocument[] = [];
  for (let c = 0; c < count; c++) {
    const document = touched[c]!;
    const score = scores[document]!;
    if (score >= threshold) best.push({ document, score });
  }
  best.sort((a, b) => b.score - a.score || a.document - b.document);
  return best.slice(0, k);
}
