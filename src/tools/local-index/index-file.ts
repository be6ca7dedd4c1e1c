/**
 * A saved index is a folder: `index.json` says what is inside, `index.bin` holds the arrays one after another exactly
 * as they are in memory, `documents.jsonl` the documents, read one by one when they are found. The folder appears whole
 * or not at all. Numbers are little-endian, as on every machine Node runs on.
 */

import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { currentFolder, putFolder } from "../../base/files/write-folder.ts";
import { CoaError } from "../../core/errors.ts";
import { canonicalJson } from "../../core/json-value.ts";
import { type Hit, type IndexDocument, type MemoryIndex, queryTerms } from "./build-index.ts";
import { type Postings, postingsSearcher } from "./postings.ts";
import { type IndexOptions, postingsBuilder } from "./postings-builder.ts";
import { findTerm, packTerms, type TermTable } from "./term-table.ts";

const formatVersion = 3;

const sections = {
  offsets: Uint32Array,
  documents: Uint32Array,
  frequencies: Uint16Array,
  lengths: Uint32Array,
  bounds: Float32Array,
  termBytes: Uint8Array,
  termStarts: Uint32Array,
  termSlots: Uint32Array,
  documentStarts: Float64Array,
  /** A sum over the bytes of each document, checked when it is read. */
  documentSums: Uint32Array,
} as const;
type SectionName = keyof typeof sections;
type Section = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

interface Header {
  version: number;
  documentCount: number;
  termCount: number;
  postingCount: number;
  /** Which files it was made of, and when they were last changed, as one fingerprint. */
  corpus?: string;
  options: { k1: number; b: number; titleBoost?: number };
  /** Byte offset and number of elements of each array in `index.bin`. */
  sections: Record<SectionName, { at: number; length: number }>;
  bytes: number;
  /** A sum over `index.bin`, and one over this description itself. */
  binarySum: number;
  sum?: number;
}

/** Builds an index into a folder, document by document; texts go to disk at once, so a corpus may be larger than memory. */
export async function indexWriter(folder: string, options: IndexOptions & { corpus?: string } = {}) {
  const temporary = `${folder}.writing-${process.pid}-${Date.now().toString(36)}`;
  await mkdir(temporary, { recursive: true });
  const file = openSync(join(temporary, "documents.jsonl"), "w");
  const builder = postingsBuilder(options);
  const starts: number[] = [0]; // [document + 1]
  const sums: number[] = []; // [document]
  let pending: string[] = [];
  let pendingLength = 0;
  let position = 0;
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(file);
    isOpen = false;
  };
  const flush = () => {
    if (pendingLength === 0) return;
    const bytes = Buffer.from(pending.join(""), "utf8");
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    pending = [];
    pendingLength = 0;
  };
  return {
    add(document: IndexDocument) {
      builder.add(document);
      const { id, title, text, url } = document;
      const line = `${JSON.stringify({ id, title, text, url })}\n`;
      position += Buffer.byteLength(line);
      starts.push(position);
      sums.push(crc32(line));
      pending.push(line);
      pendingLength += line.length;
      if (pendingLength > 1 << 20) flush();
    },
    /** Writes the index and puts the folder in its place. */
    async finish() {
      flush();
      fsyncSync(file);
      close();
      const { postings, terms } = builder.finish();
      const table = packTerms(terms);
      const documents = { documentStarts: Float64Array.from(starts), documentSums: Uint32Array.from(sums) };
      const written = writeSections(join(temporary, "index.bin"), postings, table, documents, options);
      const header = { ...written, ...(options.corpus !== undefined && { corpus: options.corpus }) };
      const text = JSON.stringify({ ...header, sum: sumOf(header) }, null, 2);
      await writeFile(join(temporary, "index.json"), text, { flush: true });
      await putFolder(temporary, folder);
      const { documentCount, termCount, postingCount, bytes } = header;
      return { documentCount, termCount, postingCount, bytes: bytes + position };
    },
    async discard() {
      close();
      await rm(temporary, { recursive: true, force: true });
    },
  };
}

function writeSections(
  path: string,
  postings: Postings,
  terms: TermTable,
  documents: { documentStarts: Float64Array; documentSums: Uint32Array },
  options: IndexOptions,
): Header {
  const arrays: Record<SectionName, Section> = {
    offsets: postings.offsets,
    documents: postings.documents,
    frequencies: postings.frequencies,
    lengths: postings.lengths,
    bounds: postings.bounds,
    termBytes: terms.bytes,
    termStarts: terms.starts,
    termSlots: terms.slots,
    ...documents,
  };
  let binarySum = 0;
  const file = openSync(path, "w");
  const places = {} as Header["sections"];
  let at = 0;
  for (const name of Object.keys(sections) as SectionName[]) {
    const array = arrays[name];
    places[name] = { at, length: array.length };
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    binarySum = crc32(bytes, binarySum);
    // One write may take 2 GB at most.
    for (let done = 0; done < bytes.length; )
      done += writeSync(file, bytes, done, Math.min(1 << 28, bytes.length - done), at + done);
    at = Math.ceil((at + bytes.length) / 8) * 8;
  }
  fsyncSync(file);
  closeSync(file);
  const { documentCount, termCount, k1, b } = postings;
  return {
    version: formatVersion,
    documentCount,
    termCount,
    postingCount: postings.documents.length,
    options: { k1, b, titleBoost: options.titleBoost },
    sections: places,
    bytes: at,
    binarySum,
  };
}

/** A sum over a description, without the sum itself. */
function sumOf({ sum: _sum, ...header }: Header): number {
  return crc32(canonicalJson(header));
}

/** An index read from its folder; it holds the arrays in memory and an open file with the documents. */
export interface LoadedIndex extends MemoryIndex {
  close(): void;
}

/** Loads a saved index into this thread. `openIndex` does it in a worker. */
export async function loadIndex(folder: string): Promise<LoadedIndex> {
  const source = await currentFolder(folder);
  const header = await readHeader(source);
  const path = join(source, "index.bin");
  const { size } = await stat(path);
  const needed = Math.max(
    ...Object.entries(header.sections).map(([name, place]) => {
      return place.at + place.length * sections[name as SectionName].BYTES_PER_ELEMENT;
    }),
  );
  if (size < needed) throw new CoaError("storage", `${path} has ${size} bytes of ${needed}: build the index again`);
  const buffer = new ArrayBuffer(Math.max(needed, 8));
  readInto(path, new Uint8Array(buffer, 0, needed));
  const damaged = (file: string) => new CoaError("storage", `${join(folder, file)} is damaged: build the index again`);
  let binarySum = 0;
  for (const name of Object.keys(sections) as SectionName[]) {
    const { at, length } = header.sections[name];
    binarySum = crc32(new Uint8Array(buffer, at, length * sections[name].BYTES_PER_ELEMENT), binarySum);
  }
  if (binarySum !== header.binarySum) throw damaged("index.bin");
  const view = <Name extends SectionName>(name: Name) => {
    const { at, length } = header.sections[name];
    return new sections[name](buffer, at, length) as InstanceType<(typeof sections)[Name]>;
  };
  const { documentCount, termCount, options } = header;
  const postings: Postings = {
    documentCount,
    termCount,
    offsets: view("offsets"),
    documents: view("documents"),
    frequencies: view("frequencies"),
    lengths: view("lengths"),
    bounds: view("bounds"),
    k1: options.k1,
    b: options.b,
  };
  const table = { bytes: view("termBytes"), starts: view("termStarts"), slots: view("termSlots") };
  const [starts, sums] = [view("documentStarts"), view("documentSums")];
  const search = postingsSearcher(postings);
  const file = openSync(join(source, "documents.jsonl"), "r");

  let numbersOf: Map<string, number[]> | undefined; // made by the first reading: searching alone has no use for it
  function readDocument(number: number): IndexDocument {
    const start = starts[number]!;
    const bytes = Buffer.allocUnsafe(starts[number + 1]! - start);
    const read = readSync(file, bytes, 0, bytes.length, start);
    if (read < bytes.length || crc32(bytes) !== sums[number]) throw damaged("documents.jsonl");
    return JSON.parse(bytes.toString("utf8")) as IndexDocument;
  }

  return {
    size: documentCount,
    search(query, k = 10): Hit[] {
      const numbers = queryTerms(query, (term) => findTerm(table, term));
      const found = search(numbers, k);
      return found.map(({ document, score }) => ({ document: readDocument(document), score }));
    },
    read(url) {
      numbersOf ??= Map.groupBy(
        Array.from({ length: documentCount }, (_, number) => number),
        (number) => readDocument(number).url ?? "",
      );
      return (numbersOf.get(url) ?? []).map(readDocument);
    },
    close: () => closeSync(file),
  };
}

/** What a saved index says of itself. */
export async function readHeader(folder: string): Promise<Header> {
  const path = join(folder, "index.json");
  let header: Header;
  try {
    header = JSON.parse(await readFile(path, "utf8")) as Header;
  } catch (error) {
    throw new CoaError(
      "storage",
      `${folder} is not an index (no readable index.json): build one with: coa index build`,
      {
        cause: error,
      },
    );
  }
  if (header.version !== formatVersion)
    throw new CoaError(
      "storage",
      `${path} has format ${header.version}, this version reads ${formatVersion}: build it again`,
    );
  if (header.sum !== sumOf(header)) throw new CoaError("storage", `${path} is damaged: build the index again`);
  return header;
}

function readInto(path: string, target: Uint8Array): void {
  const file = openSync(path, "r");
  try {
    for (let done = 0; done < target.length; ) {
      const read = readSync(file, target, done, Math.min(1 << 28, target.length - done), done);
      if (read === 0) throw new CoaError("storage", `${path} ends too early: build the index again`);
      done += read;
    }
  } finally {
    closeSync(file);
  }
}
