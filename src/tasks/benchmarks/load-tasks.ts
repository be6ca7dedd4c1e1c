/** Tasks from files: a benchmark's or the user's own, filtered and sampled the same way every time. */
import { basename } from "node:path";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { benchmarks, findBenchmark, taskFromRow } from "./benchmarks.ts";
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
  signal?: AbortSignal;
}

/** Reads the tasks of a file. */
export async function loadTasks(file: string, options: LoadOptions = {}): Promise<Task[]> {
  const stem = basename(file).replace(/\.[^.]+$/, "");
  const benchmark = options.benchmark === undefined ? guess(stem) : findBenchmark(options.benchmark);
  if (options.benchmark !== undefined && !benchmark) {
    throw new UsageError(
      `unknown benchmark "${options.benchmark}"; known: ${benchmarks.map(({ name }) => name).join(", ")}`,
    );
  }
  const tasks: Task[] = [];
  const seen = new Map<string, number>();
  let index = 0;
  for await (const row of readRows(file, options)) {
    const task = taskFromRow(row, index++, benchmark, stem);
    const { families, levels } = options;
    if (families && !families.includes(task.family ?? "")) continue;
    if (levels && !levels.includes(String(task.level ?? ""))) continue;
    const count = (seen.get(task.id) ?? 0) + 1;
    seen.set(task.id, count);
    tasks.push(count === 1 ? task : { ...task, id: `${task.id}#${count}` });
  }
  return sampleTasks(tasks, options.limit, options.seed ?? 0);
}

/** A benchmark whose name starts the file's name: `aime24.parquet`, `nq_full.jsonl`, `gaia_dev_103.json`. */
function guess(stem: string): ReturnType<typeof findBenchmark> {
  const words = stem.split(/[_\-.]/);
  for (let length = words.length; length > 0; length--) {
    const found = findBenchmark(words.slice(0, length).join(""));
    if (found) return found;
  }
  return undefined;
}

/** A fixed sample: every task gets a number from its id and the seed, the smallest are taken, the order stays. */
export function sampleTasks(tasks: readonly Task[], limit: number | undefined, seed: number): Task[] {
  if (limit === undefined || tasks.length <= limit) return [...tasks];
  const ranked = tasks
    .map((task, at) => ({ at, rank: hash(`${seed}:${task.id}`) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at);
  const chosen = new Set(ranked.slice(0, limit).map(({ at }) => at));
  return tasks.filter((_, at) => chosen.has(at));
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  // One more stir: similar ids differ only in their last characters.
  value = Math.imul(value ^ (value >>> 15), 2246822507);
  return (value ^ (value >>> 13)) >>> 0;
}
