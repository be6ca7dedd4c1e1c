import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import type { TeamRun } from "../core/team-run.ts";
import { importFiles } from "./import-file.ts";
import { refusedForTraining } from "./trainable.ts";

const wire = join(import.meta.dirname, "../../test/fixtures/python-teams");

interface TrueCall {
  id: string;
  nonce: string;
  /** The replies that its prompt held. */
  seen: string[];
  text: string;
  calls: unknown[];
  final: boolean;
}

/** The calls of each task: those that saw each other's replies. */
function trueTasks(truth: readonly TrueCall[]): TrueCall[][] {
  let tasks: TrueCall[][] = [];
  for (const call of truth) {
    const isOwn = (task: readonly TrueCall[]) => task.some(({ nonce }) => call.seen.includes(nonce));
    tasks = [...tasks.filter((task) => !isOwn(task)), [...tasks.filter(isOwn).flat(), call]];
  }
  return tasks;
}

/** Runs that may be trained on and are not exactly one task with its answer. */
function falseRuns(runs: readonly TeamRun[], tasks: readonly TrueCall[][]): string[] {
  return runs.flatMap((run) => {
    if (refusedForTraining(run) !== null) return [];
    const task = tasks.find((one) => one.some(({ id }) => id === run.steps[0]?.responseId)) ?? [];
    const ids = (list: readonly string[]) => JSON.stringify(list.toSorted());
    const whole = ids(task.map(({ id }) => id)) === ids(run.steps.map(({ responseId = "" }) => responseId));
    const last = task.findLast(({ final }) => final);
    const said = `${last?.text} ${JSON.stringify(last?.calls)}`;
    return whole && said.includes(run.answer ?? "nothing") ? [] : [`${run.question} -> ${run.answer}`];
  });
}

/** Programs recorded live, whose calls come out as exactly one run for each task. */
const exact = /^(?!smol-tool)/;

describe("Python programs wired in code", async () => {
  for (const file of (await readdir(wire)).filter((name) => name.endsWith(".calls.jsonl"))) {
    it(file.replace(".calls.jsonl", ""), async () => {
      const truth = await readAllJsonl<TrueCall>(join(wire, file.replace(".calls.", ".truth.")));
      const runs = await importFiles([join(wire, file)], { format: "calls" });
      const tasks = trueTasks(truth);
      assert.deepEqual(falseRuns(runs, tasks), []);
      if (!exact.test(file)) return;
      assert.equal(runs.length, tasks.length);
      assert.deepEqual(
        runs.map(refusedForTraining),
        runs.map(() => null),
      );
    });
  }
});
