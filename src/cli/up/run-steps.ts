/**
 * Runs the steps of a plan one after the other and keeps which are done. Started again, what is done with the same
 * command and the same inputs is skipped, what was interrupted continues, and what is stale is done again.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { writeJson } from "../../base/files/write-file.ts";
import { typed, type UpStep } from "./up-plan.ts";

const stateSchema = z.record(
  z.string(),
  z.object({ key: z.string(), state: z.enum(["running", "done"]), command: z.string() }),
);
type States = z.infer<typeof stateSchema>;

export interface RunStepsOptions {
  /** Where `steps.json` is kept. */
  folder: string;
  /** Runs one command line and gives its exit code. */
  run(args: readonly string[]): Promise<number>;
  /** Told before each step; `done` where there is nothing to do. */
  onStep(step: UpStep, state: { number: number; done: boolean; command: string }): void;
  /** Number of steps before these. */
  first?: number;
  /** Told where and how the work can be continued when it stops. */
  note(text: string): void;
  /** How the same work is started again, for messages. */
  again: string;
  signal?: AbortSignal;
}

/** Runs what is not done yet; gives the exit code of the step that failed, 0 where none did. */
export async function runSteps(steps: readonly UpStep[], options: RunStepsOptions): Promise<number> {
  const file = join(options.folder, "steps.json");
  const states = await readStates(file);
  for (const [index, step] of steps.entries()) {
    options.signal?.throwIfAborted();
    const key = await keyOf(step);
    const before = states[step.name];
    const done =
      before?.state === "done" && before.key === key && (step.outputs ?? []).every((output) => existsSync(output));
    const stale = before !== undefined && before.key !== key && step.claims === true;
    const args = stale ? [...step.args, "--resume", "fresh"] : step.args;
    options.onStep(step, { number: (options.first ?? 0) + index + 1, done, command: typed(args) });
    if (done) continue;
    states[step.name] = { key, state: "running", command: typed(step.args) };
    await writeJson(file, states);
    const stopped = (how: string) =>
      options.note(`${how} in step "${step.name}". What is done is kept; continue with: ${options.again}`);
    const code = await options.run(args).catch((error: unknown) => {
      stopped("Stopped");
      throw error;
    });
    if (code !== 0) {
      stopped("Failed");
      return code;
    }
    states[step.name] = { key: await keyOf(step), state: "done", command: typed(step.args) };
    await writeJson(file, states);
  }
  return 0;
}

/** Which steps an earlier run has finished. */
async function readStates(file: string): Promise<States> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  return stateSchema.parse(JSON.parse(text));
}

/** Of the command and of what its inputs hold. */
async function keyOf(step: UpStep): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(step.args));
  for (const input of step.inputs) hash.update(`\0${await contentKey(input)}`);
  return hash.digest("hex").slice(0, 32);
}

/** A file's hash; of a folder, the names, sizes and times of its files. */
async function contentKey(path: string): Promise<string> {
  const about = await stat(path).catch(() => undefined);
  if (!about) return "absent";
  if (!about.isDirectory()) return fileFingerprint(path);
  const hash = createHash("sha256");
  for (const name of (await readdir(path, { recursive: true })).sort()) {
    const file = await stat(join(path, name)).catch(() => undefined);
    if (file?.isFile()) hash.update(`${name}\0${file.size}\0${file.mtimeMs}\n`);
  }
  return hash.digest("hex");
}
