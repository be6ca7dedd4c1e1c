/**
 * From a folder of documents to an index: every file that can be read is read, the others are named and counted. An
 * index remembers which files it was made of, so that asking for the same documents again costs nothing.
 */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { folderState } from "../../base/files/fingerprint.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { indexWriter, readHeader } from "./index-file.ts";
import type { IndexOptions } from "./postings-builder.ts";
import { type CorpusOptions, corpusFiles, readCorpus } from "./read-corpus.ts";

export interface IndexCorpusOptions extends IndexOptions, Omit<CorpusOptions, "onProblem"> {
  /** Called for each file or line that can't be read, as it happens. */
  onProblem?: (message: string) => void;
  onProgress?: (passages: number) => void;
  signal?: AbortSignal;
}

/** Indexes what can be read; `skipped`: files and lines that could not be, with the reason. */
export async function indexCorpus(path: string, folder: string, options: IndexCorpusOptions = {}) {
  const corpus = `${await corpusFingerprint(path)} ${fingerprint(resolve(path))}`;
  const { passageWords, baseURL, name, onProblem: _told, onProgress: _progress, signal: _signal, ...index } = options;
  const writer = await indexWriter(folder, { ...index, corpus });
  const skipped: string[] = [];
  let passages = 0;
  try {
    const onProblem = (problem: string): void => {
      skipped.push(problem);
      options.onProblem?.(problem);
    };
    for await (const document of readCorpus(path, { passageWords, baseURL, name, onProblem })) {
      options.signal?.throwIfAborted();
      writer.add(document);
      if (++passages % 1_000 === 0) options.onProgress?.(passages);
    }
    if (passages === 0) {
      const why = skipped.length > 0 ? ` (${skipped.length} could not be read; the first: ${skipped[0]})` : "";
      throw new UsageError(`${path} holds no documents to index${why}`);
    }
    const { documentCount, termCount, bytes } = await writer.finish();
    return { documentCount, termCount, bytes, skipped };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** Whether the index in a folder was made of these documents as they are now. */
export async function isIndexOf(folder: string, path: string): Promise<boolean> {
  const header = await readHeader(folder).catch(() => undefined);
  return header?.corpus?.split(" ")[0] === (await corpusFingerprint(path));
}

/** Whether a folder holds an index of other documents than those at the path, whatever their state. */
export async function isIndexOfOthers(folder: string, path: string): Promise<boolean> {
  const header = await readHeader(folder).catch(() => undefined);
  return header !== undefined && header.corpus?.split(" ")[1] !== fingerprint(resolve(path));
}

/** Identifies a set of documents and their state. */
export async function corpusFingerprint(path: string): Promise<string> {
  const about = await stat(path).catch(() => undefined);
  return folderState(path, about?.isDirectory() ? await corpusFiles(path) : [""]);
}
