/**
 * The tests that a benchmark's question file leaves out. LiveCodeBench's questions circulate with one to six public tests;
 * a score on those alone is inflated, so the full tests are joined from the release by question id, and where they are
 * missing the tasks say so.
 */
import { readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { UsageError } from "../../core/errors.ts";
import type { CodeTests, Task } from "../../core/task.ts";
import { codeTestsOf, questionIdOf } from "./code-rows.ts";
import { readRows } from "./read-rows.ts";

/** Tasks with the tests of the release in `path`, a file or a folder of files with `question_id` in each row. */
export async function withHiddenTests(tasks: readonly Task[], path: string, signal?: AbortSignal): Promise<Task[]> {
  const wanted = new Set(tasks.map(questionId).filter((id) => id !== undefined));
  if (wanted.size === 0) throw new UsageError(`--tests ${path}: these tasks have no question ids to join tests by`);
  const found = new Map<string, CodeTests>();
  for (const file of await filesOf(path)) {
    for await (const row of readRows(file, { signal })) {
      const id = questionIdOf(row);
      if (id === undefined || !wanted.has(id)) continue;
      const tests = codeTestsOf(row);
      if (tests && tests.inputs.length > (found.get(id)?.inputs.length ?? 0)) found.set(id, tests);
    }
  }
  const missing = [...wanted].filter((id) => !found.has(id));
  if (missing.length > 0)
    throw new UsageError(
      `--tests ${path} has no tests for ${missing.length} of ${wanted.size} questions, for example ${missing.slice(0, 3).join(", ")}`,
    );
  return tasks.map((task) => {
    const tests = found.get(questionId(task) ?? "");
    if (!tests) return task;
    const { publicTestsOnly: _, ...meta } = task.meta ?? {};
    const starterCode = task.tests?.starterCode;
    return { ...task, tests: { ...tests, ...(starterCode ? { starterCode } : {}) }, meta };
  });
}

function questionId(task: Task): string | undefined {
  const id = task.meta?.["questionId"];
  return typeof id === "string" ? id : undefined;
}

async function filesOf(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UsageError(`--tests: there is no file or folder ${path}`);
  if (found.isFile()) return [path];
  const names = (await readdir(path)).filter((name) => [".json", ".jsonl", ".parquet"].includes(extname(name))).sort();
  if (names.length === 0) throw new UsageError(`--tests: ${path} holds no .json, .jsonl or .parquet file`);
  return names.map((name) => join(path, name));
}
