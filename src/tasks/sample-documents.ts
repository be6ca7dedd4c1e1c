/**
 * The order in which documents are asked about: one passage of every file before a second one of any, files and passages in
 * the order of a seed. So the first hundred passages come from a hundred files, and one huge file is one file.
 */
import { seededRandom } from "../base/work/random.ts";

/** All documents in that order. Passages of one file share what stands before the last `#` of their ids. */
export function sampleDocuments<D extends { id: string; text: string }>(documents: readonly D[], seed = 0): D[] {
  const files = Map.groupBy(documents.filter(isProse), ({ id }) => id.replace(/#[^#]*$/, ""));
  const placed = [...files].map(([file, passages]) => ({
    place: seededRandom(seed, "file", file).next(),
    passages: passages
      .map((passage) => ({ passage, place: seededRandom(seed, "passage", passage.id).next() }))
      .sort((a, b) => a.place - b.place),
  }));
  placed.sort((a, b) => a.place - b.place);
  const rounds = Math.max(0, ...placed.map(({ passages }) => passages.length));
  return Array.from({ length: rounds }, (_, round) =>
    placed.flatMap(({ passages }) => passages[round]?.passage ?? []),
  ).flat();
}

/** Whether a text can be asked about at all: words, not numbers, bytes or one line over and over. */
export function isProse({ text }: { text: string }): boolean {
  const start = text.slice(0, 4_000);
  const letters = start.match(/\p{L}/gu)?.length ?? 0;
  const unreadable = start.match(/[\u0000-\u0008\u000e-\u001f\ufffd]/g)?.length ?? 0;
  return (
    letters >= 0.4 * start.replace(/\s/g, "").length && unreadable <= 0.01 * start.length && /\p{L}{2}/u.test(start)
  );
}
