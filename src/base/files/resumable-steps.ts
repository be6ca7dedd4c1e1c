/**
 * Steps that are done once. `steps.json` in a folder has what is done, from which inputs and with what result. Started
 * again, a step whose inputs are the same and whose outputs are there is skipped; one that was interrupted runs again and
 * continues by its own files; one whose inputs have changed is stale, and is told so.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { steadyNow } from "../work/steady-clock.ts";
import { fileFingerprint, folderState } from "./fingerprint.ts";
import { readJsonAs } from "./read-json.ts";
import { writeJson } from "./write-file.ts";

/** One step; its result is plain data. */
export interface ResumableStep<R> {
  name: string;
  /** What decides the result, besides the content of the inputs: a command, settings. */
  identity?: unknown;
  /** Files and folders whose content decides the result. */
  inputs?: readonly string[];
  /** Files that it leaves; without them it is not done. */
  outputs?: readonly string[];
  /** Does the work; `stale` where other work was done or begun under this name. */
  run(stale: boolean): Promise<R>;
}

export interface StepEnd<R> {
  result: R;
  seconds: number;
  /** It had been done before. */
  resumed: boolean;
}

type ResultOf<S extends ResumableStep<unknown>> = Awaited<ReturnType<S["run"]>>;

export interface RunStepsOptions<S extends ResumableStep<unknown>> {
  /** How a step stands before it runs: `done` where there is nothing to do. */
  onStart?(step: S, start: { number: number; of: number; done: boolean; stale: boolean }): void;
  onEnd?(step: S, end: StepEnd<ResultOf<S>>): void;
  signal?: AbortSignal;
}

const recordSchema = z.object({
  key: z.string(),
  state: z.enum(["running", "done"]),
  result: z.unknown().optional(),
  seconds: z.number().optional(),
});

/** Runs what is not done yet, in order; gives each step's result by name. */
export async function runSteps<S extends ResumableStep<unknown>>(
  folder: string,
  steps: readonly S[],
  { onStart, onEnd, signal }: RunStepsOptions<S> = {},
): Promise<Record<string, StepEnd<ResultOf<S>>>> {
  const file = join(folder, "steps.json");
  const records = (await readJsonAs(file, z.record(z.string(), recordSchema), "a list of steps")) ?? {};
  const ends: Record<string, StepEnd<ResultOf<S>>> = {};
  for (const [index, step] of steps.entries()) {
    signal?.throwIfAborted();
    const before = records[step.name];
    const key = await keyOf(step);
    const same = before?.key === key;
    const resumed = same && before.state === "done" && (step.outputs ?? []).every((output) => existsSync(output));
    const stale = before !== undefined && !same;
    onStart?.(step, { number: index + 1, of: steps.length, done: resumed, stale });
    if (!resumed) {
      await writeJson(file, Object.assign(records, { [step.name]: { key, state: "running" } }));
      const startedAt = steadyNow();
      const result = await step.run(stale);
      const seconds = Math.round((steadyNow() - startedAt) / 1000);
      // What a step read may have grown while it ran: what it was done with is what is there now.
      records[step.name] = { key: await keyOf(step), state: "done", result, seconds };
      await writeJson(file, records);
    }
    const { result, seconds = 0 } = records[step.name]!;
    ends[step.name] = { result: result as ResultOf<S>, seconds, resumed };
    onEnd?.(step, ends[step.name]!);
  }
  return ends;
}

async function keyOf({ identity, inputs = [] }: Pick<ResumableStep<unknown>, "identity" | "inputs">): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(identity ?? null));
  for (const input of inputs) {
    const about = await stat(input).catch(() => undefined);
    hash.update(
      `\0${!about ? "absent" : about.isDirectory() ? await folderState(input) : await fileFingerprint(input)}`,
    );
  }
  return hash.digest("hex").slice(0, 32);
}
