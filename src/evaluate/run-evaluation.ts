/**
 * Runs a system over tasks and keeps what happened. Each finished run is one line in a journal; a run that is killed and
 * started again does only what is missing. At the end the records are written in the order of the tasks, so the results
 * of an interrupted evaluation and of an uninterrupted one are the same bytes.
 *
 * A folder holds `manifest.json` (what was evaluated, in full), `tasks.jsonl`, `journal.jsonl` and `runs.jsonl` (as they came:
 * records, and the trajectories or team runs behind them), `results.jsonl` and `summary.json` (the outcome).
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type ClaimedFolder, claimFolder, type Resume } from "../base/files/claim-folder.ts";
import { readManifest } from "../base/files/manifest.ts";
import { jsonlJournal, openJsonl } from "../base/files/open-jsonl.ts";
import { writeFileAtomically, writeJson } from "../base/files/write-file.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { inParallel } from "../base/work/limiter.ts";
import { sampleSeed } from "../base/work/random.ts";
import { errorEnding, throwIfUserMustFix } from "../core/ending.ts";
import { CoaError, isAbort, messageOf } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Grade, Grader } from "../core/grader.ts";
import type { System, SystemResult } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import { emptyUsage } from "../core/usage.ts";
import type { Measure, Summary } from "../report/figures.ts";
import { majoritySuccess } from "./best-of.ts";
import { type EvaluationRecord, evaluationRecordSchema, recordKey } from "./evaluation-record.ts";
import { summarise } from "./summarise.ts";

export interface EvaluationOptions {
  /** Where everything is kept; an unfinished evaluation in it is continued. */
  folder: string;
  grader: Grader;
  /** How it is measured, for the summary; a folder with another measure is refused. @internal */
  measure?: Measure;
  samples?: number;
  /** Tasks at the same time. */
  concurrency?: number;
  seed?: number;
  /** `auto` continues, `never` refuses a folder that holds an evaluation, `fresh` deletes it first. */
  resume?: Resume;
  /** Runs that crashed earlier are tried again. */
  retryErrors?: boolean;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

export interface Evaluation {
  summary: Summary;
  records: EvaluationRecord[];
}

/** Evaluates a system; resumes whatever the folder already holds. */
export async function runEvaluation(
  tasks: readonly Task[],
  system: System,
  options: EvaluationOptions,
): Promise<Evaluation> {
  checkOptions("runEvaluation", options);
  const { folder, samples = 1, concurrency = 4, seed = 0, signal, onProgress } = options;
  const claimed = await claim(tasks, system, options);
  const journal = await jsonlJournal<EvaluationRecord>(join(folder, "journal.jsonl"), evaluationRecordSchema);
  const runs = await openJsonl<unknown>(join(folder, "runs.jsonl")).catch(async (error: unknown) => {
    await journal.close();
    await claimed.release();
    throw error;
  });
  try {
    const done = new Map<string, EvaluationRecord>();
    for await (const record of journal.read()) done.set(recordKey(record), record);
    if (options.retryErrors) for (const [key, record] of done) if (record.ending.reason === "error") done.delete(key);
    const waiting = jobs(tasks, samples, seed).filter(
      (job) => !done.has(recordKey({ taskId: job.task.id, sample: job.sample })),
    );
    const total = tasks.length * samples;
    let successes = [...done.values()].filter((record) => record.grade.correct).length;
    const report = () =>
      onProgress?.({ stage: `evaluating ${system.name}`, done: done.size, total, figures: { right: successes } });
    report();
    // When a job fails, the others finish the run under way, which is paid for and kept, and stop.
    await inParallel(waiting, concurrency, async (job) => {
      signal?.throwIfAborted();
      const { record, result } = await runJob(system, job, options);
      throwIfUserMustFix(record.ending);
      // The run first: a record whose run is missing would be a link to nothing.
      // Its grade stands beside it, so that a list of runs can mark the right ones.
      const { correct } = record.grade;
      const reward = correct === null ? {} : { reward: Number(correct) };
      if (result?.run)
        await runs.append({ kind: result.run.kind, sample: job.sample, ...reward, value: result.run.value });
      await journal.append(record);
      done.set(recordKey(record), record);
      if (record.grade.correct) successes++;
      report();
    });
    const records = jobs(tasks, samples, seed).map(
      (job) => done.get(recordKey({ taskId: job.task.id, sample: job.sample }))!,
    );
    const evaluation = await finish(options, tasks, system, records);
    const figures = { success: evaluation.summary.success.value };
    await claimed.report({ state: "done", done: total, total, figures });
    return evaluation;
  } finally {
    await journal.close();
    await runs.close();
    await claimed.release();
  }
}

interface Job {
  task: Task;
  sample: number;
  seed: number;
}

function jobs(tasks: readonly Task[], samples: number, seed: number): Job[] {
  return tasks.flatMap((task) =>
    Array.from({ length: samples }, (_, sample) => ({ task, sample, seed: sampleSeed(seed, task.id, sample) })),
  );
}

/** Runs and grades one sample. A system that throws is a crashed run, which stays in every denominator. */
async function runJob(
  system: System,
  job: Job,
  options: EvaluationOptions,
): Promise<{ record: EvaluationRecord; result?: SystemResult }> {
  const { task, sample, seed } = job;
  const { signal } = options;
  const common = { version: 1 as const, system: system.name, taskId: task.id, sample, seed, ...groupsOf(task) };
  let result: SystemResult;
  try {
    result = await system.run(task, { sample, seed, signal });
    if (result.ending.reason === "aborted") signal?.throwIfAborted();
  } catch (error) {
    if (signal?.aborted || isAbort(error)) throw error;
    const detail = messageOf(error);
    const record: EvaluationRecord = {
      ...common,
      answer: null,
      grade: { correct: false, score: 0, reason: `crashed: ${detail}` },
      ending: errorEnding(error),
      usage: emptyUsage(),
      toolCalls: {},
      tokensByRole: {},
    };
    return { record };
  }
  const grade = await gradeOf(task, result.answer, options);
  const { answer, ending, usage, toolCalls, tokensByRole, path, formatErrors, check, replayed, run } = result;
  const more = {
    ...(path && { path }),
    ...(formatErrors !== undefined && { formatErrors }),
    ...(check !== undefined && { check }),
    ...(replayed && { replayed }),
    ...(run && { run: { kind: run.kind, id: run.value.id } }),
  };
  return { record: { ...common, answer, grade, ending, usage, toolCalls, tokensByRole, ...more }, result };
}

/** A grader that breaks has not said that the answer is wrong. */
async function gradeOf(task: Task, answer: string | null, { grader, signal }: EvaluationOptions): Promise<Grade> {
  try {
    return await grader(task, answer, { signal });
  } catch (error) {
    if (signal?.aborted || isAbort(error)) throw error;
    // A judge with a wrong key judges no other answer either.
    if (error instanceof CoaError && error.boundary === "model") throwIfUserMustFix(errorEnding(error));
    return { correct: null, score: 0, reason: `the grader broke: ${messageOf(error)}` };
  }
}

function groupsOf(task: Task): Pick<EvaluationRecord, "family" | "level"> {
  return {
    ...(task.family === undefined ? {} : { family: task.family }),
    ...(task.level === undefined ? {} : { level: task.level }),
  };
}

/** The folder belongs to this evaluation alone: other tasks, another model or another seed would mix two. */
async function claim(tasks: readonly Task[], system: System, options: EvaluationOptions): Promise<ClaimedFolder> {
  const { folder, samples = 1, seed = 0, measure, resume } = options;
  const taskLines = tasks.map((task) => `${JSON.stringify(task)}\n`).join("");
  const configuration = {
    system: system.name,
    topology: system.topology,
    samples,
    seed,
    measure,
    ...(system.identity && { identity: system.identity }),
  };
  const inputs = [{ role: "tasks", fingerprint: fingerprint(taskLines), records: tasks.length }];
  const claimed = await claimFolder(
    folder,
    { kind: "evaluation", configuration, inputs },
    {
      resume: resume !== "never" && (await holdsNothing(folder)) ? "fresh" : resume,
    },
  );
  if (!claimed.resumed) await writeFileAtomically(join(folder, "tasks.jsonl"), taskLines);
  return claimed;
}

/** Whether an evaluation was begun here of which no run ended: a wrong model's name can be corrected. */
async function holdsNothing(folder: string): Promise<boolean> {
  if ((await readManifest(folder).catch(() => undefined))?.kind !== "evaluation") return false;
  const journal = await stat(join(folder, "journal.jsonl")).catch(() => undefined);
  return (journal?.size ?? 0) === 0;
}

async function finish(
  { folder, samples = 1, grader, measure }: EvaluationOptions,
  tasks: readonly Task[],
  system: System,
  records: EvaluationRecord[],
): Promise<Evaluation> {
  const majority = samples > 1 ? await majoritySuccess(tasks, records, grader) : null;
  const summary = summarise(records, {
    system: system.name,
    topology: system.topology,
    samples,
    tasks,
    majority,
    measure,
    identity: system.identity,
  });
  await writeFileAtomically(
    join(folder, "results.jsonl"),
    records.map((record) => `${JSON.stringify(record)}\n`).join(""),
  );
  await writeJson(join(folder, "summary.json"), summary);
  return { summary, records };
}
