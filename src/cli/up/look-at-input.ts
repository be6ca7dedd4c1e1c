/** What `coa up` was given: documents to ask about, or traces of work that was done. Everything is counted before anything is spent. */
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { hashText } from "../../base/work/random.ts";
import { UsageError } from "../../core/errors.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { recordedScore } from "../../tasks/recorded-tasks.ts";
import { isProse } from "../../tasks/sample-documents.ts";
import { collectionName, corpusFiles, readCorpus } from "../../tools/local-index/read-corpus.ts";
import { importTraces } from "../trace-files.ts";

export type UpInput =
  | {
      kind: "documents";
      path: string;
      name: string;
      files: number;
      /** Passages that questions are written from. */
      pieces: number;
      /** Of a sample with one passage of each file: mean tokens of a passage and of its page, and the share that others name. */
      sample: { passageTokens: number; pageTokens: number; named: number };
      problems: string[];
    }
  | { kind: "traces"; path: string; name: string; runs: TeamRun[]; scored: number; problems: string[] };

/** Words of a piece that questions are written from, as `coa tasks generate` cuts documents. */
const pieceWords = 600;

/** Finds out what is at a path; `as` decides where both are possible. */
export async function lookAtInput(path: string, as?: "documents" | "traces"): Promise<UpInput> {
  const about = await stat(path).catch(() => undefined);
  if (!about) throw new UsageError(`${path} does not exist: coa up needs a folder of documents, or traces`);
  const files = about.isDirectory() ? await corpusFiles(path) : [path];
  const maybeTraces = files.filter((file) => /\.(?:json|jsonl|ndjson)$/.test(file));
  const others = files.filter((file) =>
    /^\.(?:md|markdown|txt|text|rst|org|adoc|html?|xhtml|pdf|docx)$/i.test(extname(file)),
  );
  if (as !== "documents" && (as === "traces" || maybeTraces.length > others.length)) {
    const found = await tracesAt(path, as === "traces");
    if (found) return found;
  }
  return documentsAt(path);
}

/** The runs at a path; undefined where there are none and documents are possible. */
async function tracesAt(path: string, sure: boolean): Promise<UpInput | undefined> {
  const { runs: found, unreadable } = importTraces([path]);
  let runs: TeamRun[];
  try {
    runs = await Array.fromAsync(found);
  } catch (error) {
    // A file of passages is not a trace; a trace with a broken line is, and must be said.
    if (sure || !(error instanceof UsageError)) throw error;
    return undefined;
  }
  const problems = unreadable.map(({ file, reason }) => `not a trace: ${file}: ${reason}`);
  if (runs.length === 0 && sure)
    throw new UsageError(`${path} holds no traces${problems[0] ? ` (${problems[0]})` : ""}`);
  if (runs.length === 0) return undefined;
  const scored = runs.filter((run) => recordedScore(run) !== undefined).length;
  return { kind: "traces", path, name: nameOf(path), runs, scored, problems };
}

/** Files that the sample takes its passages from, at most. */
const sampledFiles = 500;
/** What a question's writer and a reader of a page are shown at most, in characters. */
const [passageLimit, pageLimit] = [6_000, 20_000];

async function documentsAt(path: string): Promise<UpInput> {
  const problems: string[] = [];
  let pieces = 0;
  // Of each file its whole length, and the passage with the lowest number of its own: the same every time.
  const files = new Map<string, { length: number; place: number; title: string; text: string }>();
  const onProblem = (problem: string) => void problems.push(`skipped: ${problem}`);
  for await (const { id, url, title = "", text } of readCorpus(path, { passageWords: pieceWords, onProblem })) {
    if (!isProse({ text })) continue;
    pieces++;
    const place = hashText(id);
    const file = files.get(url ?? id) ?? { length: 0, place: Number.POSITIVE_INFINITY, title, text };
    file.length += text.length;
    files.set(url ?? id, place < file.place ? { ...file, place, text } : file);
  }
  if (pieces === 0)
    throw new UsageError(`${path} holds no documents and no traces${problems[0] ? ` (${problems[0]})` : ""}`);
  const sample = [...files.values()].sort((a, b) => a.place - b.place).slice(0, sampledFiles);
  const mean = (of: (one: (typeof sample)[number]) => number) =>
    sample.reduce((sum, one) => sum + of(one), 0) / sample.length;
  const named = ({ title }: { title: string }) =>
    title !== "" && sample.some((other) => other.title !== title && other.text.includes(title));
  return {
    kind: "documents",
    path,
    name: nameOf(path),
    files: files.size,
    pieces,
    sample: {
      passageTokens: mean(({ text }) => Math.min(text.length, passageLimit) / 4),
      pageTokens: mean(({ length }) => Math.min(length, pageLimit) / 4),
      named: mean((one) => Number(named(one))),
    },
    problems,
  };
}

function nameOf(path: string): string {
  return collectionName(path.replace(/[\\/]+$/, "")).replace(/\.[^.]+$/, "") || "work";
}
