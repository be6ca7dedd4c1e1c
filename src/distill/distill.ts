/**
 * Distillation of files: lines in, chains out, with a journal between. Lines are judged in batches and written in order;
 * what became of line n is on disk before line n+1 counts, so a killed run resumes where it stopped and ends with the
 * same files. Memory holds numbers about chains, never the chains themselves.
 */
import { type FileHandle, open, truncate } from "node:fs/promises";
import { basename, join } from "node:path";
import { type ClaimedFolder, claimFolder, type Resume } from "../base/files/claim-folder.ts";
import { fileFingerprint } from "../base/files/fingerprint.ts";
import { fileLines, type Line } from "../base/files/lines.ts";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically, writeJson } from "../base/files/write-file.ts";
import { checkOptions } from "../base/work/check-options.ts";
import type { FilterDecision } from "../core/chain-marks.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { DistillReport, DroppedSample } from "../report/distill-text.ts";
import { type DistillConfig, type DistillPlugins, lateStage, loadPlugins, recordStages } from "./distill-config.ts";
import { type OutcomeRecord, reportTally, type Tally } from "./distill-report.ts";
import { judgeBatch, readTasks, recordJudge, type WireOutcome } from "./judge-record.ts";
import { type DuplicateIndex, duplicateIndex } from "./stages/near-duplicates.ts";
import { taskIndex } from "./task-index.ts";

export interface DistillOptions {
  config: DistillConfig;
  out: string;
  tasksFiles?: readonly string[];
  /** Modules with plugins (URLs or absolute paths). */
  modules?: readonly string[];
  /** Plugins as functions. */
  plugins?: DistillPlugins;
  /** What is done with a distillation that the folder holds already: `auto` (continue it), `never`, `fresh`. */
  resume?: Resume;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

/** The options of one distillation, and its files. */
type Work = DistillOptions & { inputs: readonly string[] };

/** Distils JSONL files of team runs or trajectories, also mixed, into `out/trajectories.jsonl`, with `report.json` beside it. */
export async function distill(inputs: readonly string[], given: DistillOptions): Promise<DistillReport> {
  checkOptions("distill", given);
  const options: Work = { ...given, inputs };
  const { config } = options;
  const claimed = await claim(options);
  try {
    // A plugin that can't be loaded stops the program here, before any work is done.
    const plugins = { ...(await loadPlugins(options.modules ?? [])), ...options.plugins };
    const names = recordStages(config, plugins).map((stage) => stage.name);
    const late = config.skip?.includes(lateStage) ? [] : [lateStage];
    const tally = reportTally(config.profile.name, options.inputs, ["input", "convert", ...names, ...late]);
    const state = await restore(options, tally);
    const tasks = taskIndex(await readTasks(options.tasksFiles ?? []));
    await judgeAll(options, recordJudge(config, plugins, tasks, options.signal), tally, state);
    const report = await finish(options, tally, state);
    const figures = { kept: report.kept, written: report.written };
    await claimed.report({ state: "done", done: report.records, total: report.records, figures });
    return report;
  } finally {
    await claimed.release();
  }
}

interface Member {
  index: number;
  id: string;
  family: string;
  corrects: boolean;
}

interface State {
  processed: number;
  duplicates: DuplicateIndex | null;
  members: Member[];
  samples: DroppedSample[];
}

/** A folder belongs to one configuration: continuing with another would mix two datasets. */
async function claim(options: Work): Promise<ClaimedFolder> {
  const { out, config, inputs, tasksFiles = [], modules = [] } = options;
  const lineage = async (role: string, path: string) => ({ role, path, fingerprint: await fileFingerprint(path) });
  return claimFolder(
    out,
    {
      kind: "distillation",
      configuration: { ...config, modules: modules.map((module) => basename(module)) },
      inputs: await Promise.all([
        ...inputs.map((path) => lineage("runs", path)),
        ...tasksFiles.map((path) => lineage("tasks", path)),
      ]),
    },
    { resume: options.resume ?? "auto", hint: { option: "resume", value: "fresh", purpose: "to start again" } },
  );
}

/** Reads back what an earlier process has finished. */
async function restore({ out, config }: DistillOptions, tally: Tally): Promise<State> {
  const similarity = config.nearDuplicates ?? 0.95;
  const off = similarity > 1 || config.skip?.includes("near-duplicate");
  const state: State = { processed: 0, duplicates: off ? null : duplicateIndex(similarity), members: [], samples: [] };
  for await (const outcome of readJsonl<OutcomeRecord>(join(out, "outcomes.jsonl"))) {
    if (outcome.signature) state.duplicates?.findOrAdd(signatureFrom(outcome.signature), outcome.index);
    remember(state, tally, outcome);
    state.processed++;
  }
  for await (const sample of readJsonl<DroppedSample>(join(out, "dropped.jsonl"))) state.samples.push(sample);
  return state;
}

function remember(state: State, tally: Tally, outcome: OutcomeRecord): void {
  tally.add(outcome);
  if (outcome.stage !== null) return;
  const { index, id, family, facts } = outcome;
  state.members.push({ index, id, family, corrects: facts?.corrects ?? false });
}

/** Lines that are judged and written together. */
const batchLines = 64;

async function judgeAll(
  options: Work,
  judge: ReturnType<typeof recordJudge>,
  tally: Tally,
  state: State,
): Promise<void> {
  const files = await openFiles(options.out);
  await cutAfter(join(options.out, "kept.jsonl"), state.members.length);
  const skip = state.processed;
  async function* batches(): AsyncGenerator<Line[]> {
    let index = 0;
    let batch: Line[] = [];
    for await (const line of inputLines(options.inputs, options.signal)) {
      if (index++ < skip || batch.push(line) < batchLines) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }
  try {
    for await (const lines of batches()) {
      options.signal?.throwIfAborted();
      const texts = lines.map(({ text }) => text);
      const outcomes = await judgeBatch(judge, texts);
      const kept: string[] = [];
      const journal: string[] = [];
      const dropped: string[] = [];
      for (const [place, outcome] of outcomes.entries()) {
        const record = settle(state, outcome, lines[place]!, state.processed++);
        if (record.stage === null) kept.push(`${outcome.line}\n`);
        else if (wantsSample(state, record)) {
          const sample = sampleOf(record, outcome.line);
          state.samples.push(sample);
          dropped.push(`${JSON.stringify(sample)}\n`);
        }
        journal.push(`${JSON.stringify(record)}\n`);
        remember(state, tally, record);
      }
      // Chains first: a chain without its outcome is judged again, an outcome without its chain would be lost.
      await files.kept.appendFile(kept.join(""));
      await files.dropped.appendFile(dropped.join(""));
      await files.outcomes.appendFile(journal.join(""));
      options.onProgress?.({ stage: "distill", done: state.processed, figures: { kept: state.members.length } });
    }
  } finally {
    await Promise.all([files.kept.close(), files.dropped.close(), files.outcomes.close()]);
  }
}

/** The journal's record of an outcome; near-duplicates are found here, where lines come in order. */
function settle(state: State, outcome: WireOutcome, input: Line, index: number): OutcomeRecord {
  const { line: _line, signature, ...rest } = outcome;
  const record: OutcomeRecord = { index, file: input.file, line: input.line, ...rest };
  if (outcome.stage !== null || !signature || !state.duplicates) return record;
  const twin = state.duplicates.findOrAdd(signature, index);
  if (!twin) {
    const bytes = Buffer.from(signature.buffer, signature.byteOffset, signature.byteLength);
    return { ...record, signature: bytes.toString("base64") };
  }
  const verdict = {
    reason: "near-duplicate",
    detail: `${Math.round(100 * twin.similarity)} % like record ${twin.number}`,
  };
  const measured = { measure: "similarity", value: twin.similarity, threshold: state.duplicates.minSimilarity };
  const decision: FilterDecision = { stage: lateStage, kept: false, ...verdict, ...measured };
  return { ...record, stage: lateStage, ...verdict, decisions: [...(record.decisions ?? []), decision] };
}

function signatureFrom(text: string): Uint32Array {
  const bytes = Buffer.from(text, "base64");
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** Three of each stage; one that was written just before a crash counts once. */
function wantsSample({ samples }: State, { stage, id }: OutcomeRecord): boolean {
  const same = samples.filter((sample) => sample.stage === stage);
  return same.length < 3 && !same.some((sample) => sample.id === id);
}

function sampleOf(record: OutcomeRecord, line: string | undefined): DroppedSample {
  const { stage, id, reason, detail } = record;
  return {
    stage: stage!,
    id,
    reason: reason ?? "",
    detail,
    ...(line !== undefined && { trajectory: JSON.parse(line) as Trajectory }),
  };
}

async function openFiles(out: string): Promise<Record<"kept" | "dropped" | "outcomes", FileHandle>> {
  const openOne = async (name: string) => {
    // Opening through the store sets a torn last line aside.
    await (await openJsonl(join(out, name), { lock: false })).close();
    return open(join(out, name), "a");
  };
  const [kept, dropped, outcomes] = await Promise.all(["kept.jsonl", "dropped.jsonl", "outcomes.jsonl"].map(openOne));
  return { kept: kept!, dropped: dropped!, outcomes: outcomes! };
}

/**
 * Line n of `kept.jsonl` is the chain of the nth outcome that was kept. A crash can leave chains without an outcome at
 * its end; they are cut off, and their lines are judged again.
 */
async function cutAfter(file: string, lines: number): Promise<void> {
  let bytes = 0;
  let count = 0;
  for await (const { text } of inputLines([file])) {
    if (count++ === lines) return truncate(file, bytes);
    bytes += Buffer.byteLength(text) + 1;
  }
  if (count < lines) throw new CoaError("storage", `${file} has lost chains: ${count} of ${lines}; distill it again`);
}

/** Multiplies, writes the result and the report. */
async function finish(options: DistillOptions, tally: Tally, state: State): Promise<DistillReport> {
  const { out, config } = options;
  const times = Math.max(1, Math.floor(config.correctionCopies ?? 2));
  let copies = 0;
  async function* lines(): AsyncGenerator<string> {
    let place = 0;
    for await (const { text: trajectory } of inputLines([join(out, "kept.jsonl")], options.signal)) {
      const member = state.members[place++]!;
      yield `${trajectory}\n`;
      if (!member.corrects) continue;
      for (let copy = 2; copy <= times; copy++) {
        const parsed = JSON.parse(trajectory) as { id: string };
        yield `${JSON.stringify({ ...parsed, id: `${parsed.id}#${copy}` })}\n`;
        copies++;
      }
    }
  }
  const target = join(out, "trajectories.jsonl");
  await writeFileAtomically(target, lines());
  const report = tally.finish({ copies, samples: state.samples });
  await writeJson(join(out, "report.json"), report);
  return report;
}

/** Streams all lines that are not empty. */
export async function* inputLines(files: readonly string[], signal?: AbortSignal): AsyncGenerator<Line> {
  for (const file of files) {
    try {
      for await (const line of fileLines(file, { signal })) if (line.text.trim() !== "") yield line;
    } catch (error) {
      if (signal?.aborted || error instanceof CoaError) throw error;
      throw new CoaError("storage", `can't read ${file}: ${messageOf(error)}`, { cause: error });
    }
  }
}
