/**
 * The tests that a benchmark's question file leaves out. LiveCodeBench's questions are often published with one to six
 * public tests only; a score on those is too high, so the full tests are joined from the release by question id, and
 * where they are missing the tasks say so.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { CoaError, UsageError } from "../../core/errors.ts";
import type { CodeTests, Task } from "../../core/task.ts";
import { codeTestsOf, questionIdOf } from "./code-rows.ts";
import { PickledObject, readPickle } from "./read-pickle.ts";
import { type Row, readRows } from "./read-rows.ts";

/**
 * Tasks with the tests of the release in `path`: a file, or a folder of files, with `question_id` in each row, or the
 * reference's folder of one `{question_id}.pkl` for each question.
 */
export async function withHiddenTests(tasks: readonly Task[], path: string, signal?: AbortSignal): Promise<Task[]> {
  const wanted = new Set(tasks.flatMap(({ questionId }) => questionId ?? []));
  if (wanted.size === 0) throw new UsageError(`eval.tests ${path}: these tasks have no question ids to join tests by`);
  const found = new Map<string, CodeTests>();
  for (const file of await filesOf(path, wanted)) {
    signal?.throwIfAborted();
    for await (const row of extname(file) === ".pkl" ? [await problemRow(file)] : readRows(file, { signal })) {
      const id = questionIdOf(row);
      if (id === undefined || !wanted.has(id)) continue;
      const tests = codeTestsOf(row);
      if (tests && tests.inputs.length > (found.get(id)?.inputs.length ?? 0)) found.set(id, tests);
    }
  }
  const missing = [...wanted].filter((id) => !found.has(id));
  if (missing.length > 0)
    throw new UsageError(
      `eval.tests ${path} has no tests for ${missing.length} of ${wanted.size} questions, for example ${missing.slice(0, 3).join(", ")}`,
    );
  return tasks.map((task) => {
    const tests = found.get(task.questionId ?? "");
    if (!tests) return task;
    const starterCode = task.tests?.starterCode;
    return { ...task, tests: { ...tests, ...(starterCode ? { starterCode } : {}) } };
  });
}

/** The problem in a pickle of the reference, as a row; the pickle is read as data, nothing in it is run. */
async function problemRow(file: string): Promise<Row> {
  const found = readPickle(await readFile(file));
  const fields = found instanceof PickledObject && plain(found);
  if (!fields || typeof fields !== "object") throw new CoaError("format", `${file} holds no LiveCodeBench problem`);
  return fields as Row;
}

/** Objects as their fields, enumeration members and the like as what they were made from. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]));
  if (!(value instanceof PickledObject)) return value;
  return value.state === undefined ? plain(value.args[0]) : plain(value.state);
}

async function filesOf(path: string, wanted: ReadonlySet<string>): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UsageError(`eval.tests: there is no file or folder ${path}`);
  if (found.isFile()) return [path];
  const all = (await readdir(path)).sort();
  const pickles = all.filter((name) => extname(name) === ".pkl");
  const names = all.filter((name) => [".json", ".jsonl", ".parquet"].includes(extname(name)));
  if (names.length + pickles.length === 0)
    throw new UsageError(`eval.tests: ${path} holds no .json, .jsonl, .parquet or .pkl file`);
  // Pickles are named after their question: of a thousand only those that are asked for are opened.
  names.push(...pickles.filter((name) => wanted.has(name.slice(0, -4))));
  return names.map((name) => join(path, name));
}
