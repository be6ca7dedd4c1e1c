/**
 * A training run is a folder that can be repeated: `manifest.json` holds the whole configuration, the seed and a
 * fingerprint of the data; `metrics.jsonl` one line per step; `checkpoints/` complete states, the newest of which
 * a resumed run continues from (the one before where its files are damaged); `model/` the result in Hugging Face layout.
 */
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { claimFolder, type Resume } from "../base/files/claim-folder.ts";
import { fileFingerprint } from "../base/files/fingerprint.ts";
import { type JsonlWriter, openJsonl } from "../base/files/open-jsonl.ts";
import { jsonIn } from "../base/files/read-json.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically, writeJson } from "../base/files/write-file.ts";
import { currentFolder, folderNames, writeFolder } from "../base/files/write-folder.ts";
import type { Engine } from "../core/engine.ts";
import { CoaError, type Hint } from "../core/errors.ts";
import { asObject, parseJson } from "../core/json-value.ts";

export interface RunDescription {
  kind: "sft" | "rl";
  config: Record<string, unknown>;
  seed: number;
  dataFingerprint: string;
}

export type Metrics = { step: number } & Record<string, number>;

/** What the newest checkpoint holds: the engine's state by reference, and what the loop itself remembers. */
export interface Checkpoint<Memory> {
  step: number;
  state: string;
  memory: Memory;
}

export type RunFolder<Memory> = Awaited<ReturnType<typeof openRunFolder<Memory>>>;

/** Where a checkpoint says what it holds. A state that lies in the checkpoint itself is named relative to it. */
const checkpointFile = "checkpoint.json";
/** SHA-256 of every file of a checkpoint: a flipped bit in weights would train on without a word. */
const hashesFile = "hashes.json";

/** What helps when work was stopped. */
export const continueIt: Hint = { option: "resume", value: "auto", purpose: "to continue it" };

/** Opens a run's folder: the same run is continued, another is refused with the difference named. */
export async function openRunFolder<Memory>(
  path: string,
  { kind, config, seed, dataFingerprint }: RunDescription,
  resume: Resume = "auto",
) {
  const claimed = await claimFolder(
    path,
    {
      kind: "training",
      configuration: { stage: kind, seed, ...config },
      inputs: dataFingerprint === "" ? [] : [{ role: "data", fingerprint: dataFingerprint }],
    },
    { resume },
  );
  await mkdir(join(path, "checkpoints"), { recursive: true });
  const { checkpoint, damaged } = await newestCheckpoint<Memory>(path).catch(async (error: unknown) => {
    await claimed.release();
    throw error;
  });
  const open: JsonlWriter<never>[] = [];
  /** A further file with lines per step; lines of steps after the checkpoint are gone, for those steps are done again. */
  const stepFile = async <Line extends { step: number }>(name: string): Promise<JsonlWriter<Line>> => {
    const stepsFile = join(path, name);
    await forgetLaterSteps(stepsFile, checkpoint?.step ?? 0);
    const writer = await openJsonl<Line>(stepsFile);
    open.push(writer);
    return writer;
  };
  const metrics = await stepFile<Metrics>("metrics.jsonl");
  const total = typeof config["steps"] === "number" ? config["steps"] : undefined;
  let figures: Record<string, number> = {};
  let reportedAt = Number.NEGATIVE_INFINITY;
  const report = (state: "running" | "done", done: number) =>
    claimed.report({ state, done, ...(total !== undefined && { total }), figures });
  return {
    path,
    /** The newest complete checkpoint; null for a new run. */
    checkpoint,
    /** Checkpoints whose files are not as they were written, by the names under which they were set aside. */
    damaged,
    stepFile,
    /** Writes the figures of a step, and into the manifest how far the run is: that at most once in a second. */
    async log(line: Metrics): Promise<void> {
      await metrics.append(line);
      figures = { ...figures, ...headline(line) };
      if (performance.now() - reportedAt < 1_000) return;
      await report("running", line.step);
      reportedAt = performance.now();
    },
    finish: (steps: number): Promise<void> => report("done", steps),
    /** Writes a checkpoint all or nothing, then deletes all but the newest two. */
    async save(step: number, engine: Engine, memory: Memory): Promise<void> {
      await writeFolder(join(path, "checkpoints", checkpointName(step)), async (folder) => {
        const state = await engine.saveState(join(folder, "engine"), `${basename(path)}-${checkpointName(step)}`);
        const inside = state.startsWith(folder) ? relative(folder, state) : state;
        await writeJson(join(folder, checkpointFile), { step, state: inside, memory });
        await writeJson(join(folder, hashesFile), await hashesOf(folder));
      });
      const old = (await checkpoints(path)).slice(0, -2);
      for (const { path: gone } of old) {
        const { state } = (await readCheckpoint(gone).catch(() => undefined)) ?? {};
        await rm(gone, { recursive: true, force: true });
        if (state !== undefined) await engine.deleteState?.(state);
      }
    },
    async close(): Promise<void> {
      for (const writer of open) await writer.close();
      await claimed.release();
    },
  };
}

/** The figures by which people know a run, of those that a step has. */
function headline(line: Metrics): Record<string, number> {
  const names = ["loss", "meanReward", "success", "heldOutLoss"].filter((name) => Number.isFinite(line[name]));
  return Object.fromEntries(names.map((name) => [name, line[name]!]));
}

async function readCheckpoint<Memory>(folder: string): Promise<Checkpoint<Memory>> {
  const text = await readFile(join(folder, checkpointFile), "utf8").catch((cause: unknown) => {
    const hint = "it was made by an earlier version, start the run in a new folder";
    throw new CoaError("format", `${folder} has no ${checkpointFile}: ${hint}`, { cause });
  });
  const checkpoint = jsonIn(text, join(folder, checkpointFile)) as Checkpoint<Memory>;
  const elsewhere = /^[a-z]+:\/\//.test(checkpoint.state);
  return elsewhere ? checkpoint : { ...checkpoint, state: join(folder, checkpoint.state) };
}

/** Steps after the checkpoint will be done again: their old lines would make a curve with two values per step. */
async function forgetLaterSteps(file: string, step: number): Promise<void> {
  const lines = await readAllJsonl<{ step: number }>(file);
  const kept = lines.filter((line) => line.step <= step);
  if (kept.length < lines.length) {
    await writeFileAtomically(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

function checkpointName(step: number): string {
  return `step-${String(step).padStart(7, "0")}`;
}

async function checkpoints(path: string): Promise<{ step: number; path: string }[]> {
  const folder = join(path, "checkpoints");
  const steps = (await folderNames(folder)).filter((name) => /^step-\d+$/.test(name));
  return Promise.all(
    steps.map(async (name) => ({ step: Number(name.slice(5)), path: await currentFolder(join(folder, name)) })),
  );
}

/** The newest checkpoint that is as it was written; damaged ones after it are set aside. */
async function newestCheckpoint<Memory>(
  path: string,
): Promise<{ checkpoint: Checkpoint<Memory> | null; damaged: string[] }> {
  const found = (await checkpoints(path)).reverse();
  const faults: string[] = [];
  for (const [at, { path: folder }] of found.entries()) {
    const fault = await faultOf(folder);
    if (fault !== undefined) {
      faults.push(fault);
      continue;
    }
    const checkpoint = await readCheckpoint<Memory>(folder);
    const damaged: string[] = [];
    for (const { step, path: bad } of found.slice(0, at)) {
      const aside = join(path, "checkpoints", `damaged-${checkpointName(step)}`);
      await rm(aside, { recursive: true, force: true });
      await rename(bad, aside);
      damaged.push(aside);
    }
    return { checkpoint, damaged };
  }
  if (faults.length === 0) return { checkpoint: null, damaged: [] };
  throw new CoaError(
    "format",
    `no checkpoint of ${path} is as it was written: ${faults.join("; ")}. Restore them, or start the run in a new folder`,
  );
}

/** What is wrong with a checkpoint's files; those of earlier versions have no hashes to compare with. */
async function faultOf(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, hashesFile), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const wanted = asObject(parseJson(text));
  if (!wanted) return `${join(folder, hashesFile)} is damaged`;
  const found = await hashesOf(folder);
  const name = Object.keys(wanted).find((file) => wanted[file] !== found[file]);
  return name === undefined ? undefined : `${join(folder, name)} is ${name in found ? "damaged" : "missing"}`;
}

async function hashesOf(folder: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== hashesFile) hashes[relative(folder, file)] = await fileFingerprint(file);
  }
  return hashes;
}
