/** Tasks from files: a benchmark's or the user's own, filtered and sampled the same way every time. */

import { basename, dirname, resolve } from "node:path";
import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { hashText } from "../../base/work/random.ts";
import { CoaError, UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { type Benchmark, benchmarks, findBenchmark, taskFromRow } from "./benchmarks.ts";
import { withHiddenTests } from "./hidden-tests.ts";
import { readRows } from "./read-rows.ts";

export interface LoadOptions {
  /** Name of the benchmark; found from the file's name where absent, and a user's own file where that is unknown. */
  benchmark?: string;
  /** At most this many tasks, chosen by `seed` and kept in the file's order. */
  limit?: number;
  seed?: number;
  /** Only these families or levels. */
  families?: readonly string[];
  levels?: readonly string[];
  /** Leaves out tasks that come with a picture. */
  textOnly?: boolean;
  /** Only tasks first published in this window, both days included, as `2024-08-01`. */
  since?: string;
  until?: string;
  /** A release with all tests of the questions in this file, joined by question id. */
  tests?: string;
  /** Takes a file in which more than one row in a hundred has nothing to grade against. */
  allowMissingGolds?: boolean;
  signal?: AbortSignal;
}

/** Where tasks came from, as an evaluation records it. */
export interface TaskSource {
  file: string;
  fileHash: string;
  benchmark?: string;
  /** The split that the file's name says, or its folder's (`validation/metadata.jsonl`), where one does. */
  split?: string;
  /** Programs are graded on the tests that everybody can see, because the others are not in the file. */
  publicTestsOnly: boolean;
}

/** The tasks of a file in any form that is known ([the forms](../../../docs/guide/tasks.md)). */
export async function loadTasks(file: string, options: LoadOptions = {}): Promise<Task[]> {
  return (await loadBenchmark(file, options)).tasks;
}

/** Reads the tasks of a file, and says where they came from. */
export async function loadBenchmark(
  file: string,
  options: LoadOptions = {},
): Promise<{ tasks: Task[]; source: TaskSource }> {
  const stem = basename(file).replace(/\.[^.]+$/, "");
  const benchmark = options.benchmark === undefined ? guess(stem) : findBenchmark(options.benchmark);
  if (options.benchmark !== undefined && !benchmark) {
    throw new UsageError(
      `unknown benchmark "${options.benchmark}"; known: ${benchmarks.map(({ name }) => name).join(", ")}`,
    );
  }
  const all: Task[] = [];
  const seen = new Map<string, number>();
  let index = 0;
  for await (const row of readRows(file, { signal: options.signal })) {
    const task = taskFromRow(row, index++, benchmark, stem);
    const count = (seen.get(task.id) ?? 0) + 1;
    seen.set(task.id, count);
    all.push(count === 1 ? task : { ...task, id: `${task.id}#${count}` });
  }
  if (benchmark && !options.allowMissingGolds) refuseMissingGolds(all, file, benchmark);
  const chosen = sampleTasks(
    all.filter((task) => wanted(task, options)),
    options.limit,
    options.seed ?? 0,
  );
  const tasks = options.tests === undefined ? chosen : await withHiddenTests(chosen, options.tests, options.signal);
  const named = /(?:^|[_\-.])(train|dev|validation|valid|test|main|full)(?=$|[_\-.\d])/i.exec(stem)?.[1];
  const folder = benchmark && /^(?:train|dev|validation|valid|test)$/i.exec(basename(dirname(resolve(file))))?.[0];
  const split = (named ?? folder)?.toLowerCase();
  const source: TaskSource = {
    file: basename(file),
    fileHash: (await fileFingerprint(file)).slice(0, 16),
    ...(benchmark ? { benchmark: benchmark.name } : {}),
    ...(split ? { split } : {}),
    publicTestsOnly: tasks.some((task) => task.tests?.publicOnly === true),
  };
  return { tasks, source };
}

function wanted(task: Task, { families, levels, textOnly, since, until }: LoadOptions): boolean {
  if (families && !families.includes(task.family ?? "")) return false;
  if (levels && !levels.includes(String(task.level ?? ""))) return false;
  if (textOnly && (task.hasImage || (task.files?.length ?? 0) > 0)) return false;
  if (since === undefined && until === undefined) return true;
  const date = (task.date ?? "").slice(0, 10);
  if (date === "") throw new UsageError(`task ${task.id} has no date, so it can't be placed in a window of time`);
  return (since === undefined || date >= since) && (until === undefined || date <= until);
}

/** A file that was read wrongly, or is the split without answers, must not become a row of zeros. */
function refuseMissingGolds(tasks: readonly Task[], file: string, benchmark: Benchmark): void {
  const bare = tasks.filter((task) => (task.kind === "code" ? !task.tests : task.answers.length === 0));
  if (bare.length * 100 <= tasks.length) return;
  throw new CoaError(
    "format",
    `${bare.length} of ${tasks.length} rows of ${file} have nothing to grade against, for example ${bare[0]!.id}. Is it the file of ${benchmark.title} with answers? --set eval.allowMissingGolds runs it nevertheless.`,
  );
}

/** A benchmark whose name starts the file's name: `aime24.parquet`, `nq_full.jsonl`, `hotpot_dev_distractor_v1.json`. */
function guess(stem: string): ReturnType<typeof findBenchmark> {
  const words = stem.split(/[_\-.\s]+/);
  for (let length = words.length; length > 0; length--) {
    const found = findBenchmark(words.slice(0, length).join(""));
    if (found) return found;
  }
  return undefined;
}

/** A fixed sample: every task gets a number from its id and the seed, the smallest are taken, the order stays. */
function sampleTasks(tasks: readonly Task[], limit: number | undefined, seed: number): Task[] {
  if (limit === undefined || tasks.length <= limit) return [...tasks];
  const ranked = tasks
    .map((task, at) => ({ at, rank: hashText(`${seed}:${task.id}`) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at);
  const chosen = new Set(ranked.slice(0, limit).map(({ at }) => at));
  return tasks.filter((_, at) => chosen.has(at));
}
