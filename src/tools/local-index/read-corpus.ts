/**
 * Documents to index, from what people have: a JSONL file of passages, a file, or a folder of HTML, Markdown, text,
 * PDF, Word and JSONL files, whose texts are cut into passages at paragraph ends. A document has an address that
 * contains nothing about this machine, `coa://docs/<name>/<path>`, by which it is found, read and cited.
 */

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { fileLines } from "../../base/files/lines.ts";
import { CoaError, messageOf, UsageError } from "../../core/errors.ts";
import { extractPage } from "../crawl/extract-page.ts";
import type { IndexDocument } from "./build-index.ts";
import { readDocx } from "./read-docx.ts";

export interface CorpusOptions {
  /** Files of a folder are cut into passages of about this many words. */
  passageWords?: number;
  /** Address of the folder's root, where its files can be had from the web; `coa://docs/<name>/` otherwise. */
  baseURL?: string;
  /** Name of the collection in its addresses; default: that of the file or folder. */
  name?: string;
  /** Called for each file or line that can't be read; without it, the first one stops the work. */
  onProblem?: (message: string) => void;
}

const types: Record<string, string> = Object.fromEntries(
  Object.entries({
    "text/html": ".html .htm",
    "application/xhtml+xml": ".xhtml",
    "text/markdown": ".md .markdown",
    "text/plain": ".txt .rst .text .org .adoc",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
  }).flatMap(([type, endings]) => endings.split(" ").map((ending) => [ending, type])),
);
const lineFiles = new Set([".jsonl", ".ndjson"]);

/** What every address of a user's document begins with. */
export const documentScheme = "coa://docs/";

/** The name of a collection as addresses have it: small letters, digits and hyphens. */
export function collectionName(path: string): string {
  const name = basename(path, lineFiles.has(extname(path).toLowerCase()) ? extname(path) : "");
  return (
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}._]+/gu, "-")
      .replace(/^[-.]/, "") || "documents"
  );
}

/** The files of a folder of documents, by path from it: nothing hidden, and no packages that were installed there. */
export async function corpusFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .map(async (entry) => {
        const about = entry.isSymbolicLink() ? await stat(join(folder, entry.name)).catch(() => undefined) : entry;
        // A linked folder may lead back here: only what lies here is walked.
        if (!entry.isDirectory()) return about?.isFile() ? [entry.name] : [];
        return (await corpusFiles(join(folder, entry.name))).map((name) => join(entry.name, name));
      }),
  );
  return found.flat().sort();
}

/** Reads documents from a JSONL file or a folder. */
export async function* readCorpus(path: string, options: CorpusOptions = {}): AsyncIterable<IndexDocument> {
  const about = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new UsageError(`${path} does not exist: give a folder or a file of documents`);
    throw error;
  });
  const base = options.baseURL ?? `${documentScheme}${encodeURIComponent(options.name ?? collectionName(path))}/`;
  const root = base.endsWith("/") ? base : `${base}/`;
  if (about.isDirectory()) {
    const unread = new Map<string, number>();
    for (const name of await corpusFiles(path)) {
      const extension = extname(name).toLowerCase();
      if (types[extension] || lineFiles.has(extension)) yield* readDocument(path, name, root, options);
      else unread.set(extension, (unread.get(extension) ?? 0) + 1);
    }
    for (const [extension, count] of unread)
      options.onProblem?.(`${count} ${extension || "files without an ending"} in ${path}: this kind is not read`);
  } else if (types[extname(path).toLowerCase()]) yield* readDocument(dirname(path), basename(path), root, options);
  else yield* readLines(path, root, options);
}

async function* readLines(path: string, root: string, options: CorpusOptions): AsyncIterable<IndexDocument> {
  for await (const { line, text } of fileLines(path)) {
    if (text.trim() === "") continue;
    const document = parseLine(text, line);
    if (typeof document === "string") report(options, `${path} line ${line}: ${document}`);
    else yield { ...document, url: document.url ?? `${root}${encodeURIComponent(document.id)}` };
  }
}

/** A document, or what is wrong with the line. `contents` (title, newline, text) is accepted as retrieval corpora have it. */
function parseLine(line: string, number: number): IndexDocument | string {
  let record: Record<string, unknown>;
  try {
    // Editors of some systems put a byte order mark in front of the first line.
    record = JSON.parse(line.replace(/^\ufeff/, "")) as Record<string, unknown>;
  } catch (error) {
    return `not JSON: ${messageOf(error)}`;
  }
  if (record === null || typeof record !== "object") return "not a JSON object";
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const id = String(record["id"] ?? record["_id"] ?? record["doc_id"] ?? number);
  const url = text(record["url"]) ?? text(record["link"]);
  const contents = text(record["contents"]);
  const body = text(record["text"]) ?? text(record["content"]);
  if (body !== undefined) return { id, title: text(record["title"]), text: body, url };
  if (contents === undefined) return "neither text nor contents in it";
  const newline = contents.indexOf("\n");
  if (newline < 0) return { id, title: text(record["title"]), text: contents, url };
  return { id, title: contents.slice(0, newline).replace(/^"|"$/g, ""), text: contents.slice(newline + 1), url };
}

async function* readDocument(
  folder: string,
  name: string,
  root: string,
  options: CorpusOptions,
): AsyncIterable<IndexDocument> {
  const extension = extname(name).toLowerCase();
  const path = join(folder, name);
  const inside = relative(folder, path).split(/[\\/]/).map(encodeURIComponent).join("/");
  const url = root + inside;
  try {
    if (lineFiles.has(extension)) return yield* readLines(path, `${url}/`, options);
    const page = await readText(url, extension, await readFile(path));
    if (page.text.trim() === "") throw new CoaError("storage", "there is no text in it");
    const title = page.title || /^#+ (.+)$/m.exec(page.text)?.[1] || name;
    const passages = splitPassages(page.text, options.passageWords ?? 150);
    for (const [index, text] of passages.entries()) yield { id: `${name}#${index}`, title, text, url };
  } catch (error) {
    report(options, `${path}: ${messageOf(error).replace(`${url}: `, "")}`);
  }
}

async function readText(url: string, extension: string, body: Uint8Array): Promise<{ title: string; text: string }> {
  if (extension === ".docx") return { title: "", text: readDocx(body) };
  return extractPage({ url, status: 200, contentType: types[extension]!, body, truncated: false });
}

/** Cuts a text into passages of about `words` words, at paragraph ends where paragraphs are not longer than that. */
export function splitPassages(text: string, words: number): string[] {
  const passages: string[] = [];
  let current: string[] = [];
  let count = 0;
  const close = () => {
    if (current.length > 0) passages.push(current.join("\n\n"));
    current = [];
    count = 0;
  };
  for (const paragraph of text.split(/\n{2,}/)) {
    const pieces = paragraph.split(/\s+/).filter(Boolean);
    if (pieces.length === 0) continue;
    if (count > 0 && count + pieces.length > words) close();
    if (pieces.length <= words) {
      current.push(paragraph.trim());
      count += pieces.length;
      continue;
    }
    for (let start = 0; start < pieces.length; start += words)
      passages.push(pieces.slice(start, start + words).join(" "));
  }
  close();
  return passages;
}

function report(options: CorpusOptions, message: string): void {
  if (!options.onProblem) throw new CoaError("storage", message);
  options.onProblem(message);
}
