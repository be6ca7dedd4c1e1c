/**
 * A training run is a folder that can be repeated: `run.json` holds the whole configuration, the seed, a fingerprint of
 * the data and the code's version; `metrics.jsonl` one line per step; `checkpoints/` complete states, the newest of which
 * a resumed run continues from; `model/` the result in Hugging Face layout.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { recoverFolder, writeFolder } from "../base/files/write-folder.ts";
import { CoaError } from "../core/errors.ts";

export interface RunDescription {
  kind: "sft" | "rl";
  config: Record<string, unknown>;
  seed: number;
  dataFingerprint: string;
  codeVersion: string;
}

/** One line of metrics.jsonl. */
export type Metrics = { step: number } & Record<string, number | string | null>;

export interface RunFolder {
  readonly path: string;
  /** Steps done by the newest complete checkpoint; 0 for a new run. */
  readonly resumeStep: number;
  readonly checkpoint: string | null;
  log(metrics: Metrics): Promise<void>;
  /** Writes a checkpoint all or nothing, then forgets all but the newest two. */
  save(step: number, write: (folder: string) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Opens a run's folder; with `resume` it must hold the same run, without it must be new. */
export async function openRunFolder(path: string, description: RunDescription, resume: boolean): Promise<RunFolder> {
  await mkdir(join(path, "checkpoints"), { recursive: true });
  const file = join(path, "run.json");
  const before = await readFile(file, "utf8").catch(() => null);
  if (before !== null && !resume) {
    throw new CoaError("usage", `${path} holds a run already: pass --resume to continue it, or name another folder`);
  }
  if (before !== null) assertSameRun(path, JSON.parse(before) as RunDescription, description);
  else await writeFile(file, `${JSON.stringify(description, null, 2)}\n`);
  const checkpoint = await newestCheckpoint(path);
  const resumeStep = checkpoint?.step ?? 0;
  const metricsFile = join(path, "metrics.jsonl");
  await forgetLaterMetrics(metricsFile, resumeStep);
  const metrics = await openJsonl<Metrics>(metricsFile);
  return {
    path,
    resumeStep,
    checkpoint: checkpoint?.path ?? null,
    log: (line) => metrics.append(line),
    async save(step, write) {
      await writeFolder(join(path, "checkpoints", checkpointName(step)), write);
      const kept = (await checkpoints(path)).slice(0, -2);
      for (const old of kept) await rm(old.path, { recursive: true, force: true });
    },
    close: () => metrics.close(),
  };
}

function assertSameRun(path: string, before: RunDescription, now: RunDescription): void {
  for (const key of ["kind", "seed", "dataFingerprint", "config"] as const) {
    const [was, is] = [JSON.stringify(before[key]), JSON.stringify(now[key])];
    if (was !== is) {
      const hint = key === "dataFingerprint" ? "the data has changed" : `${key} was ${was}, now it is ${is}`;
      throw new CoaError(
        "usage",
        `${path} can't be resumed: ${hint}. Resume with the same settings, or start a new folder.`,
      );
    }
  }
}

/** Steps after the checkpoint will be done again: their old lines would make a curve with two values per step. */
async function forgetLaterMetrics(file: string, step: number): Promise<void> {
  const lines = await readAllJsonl<Metrics>(file);
  const kept = lines.filter((line) => line.step <= step);
  if (kept.length < lines.length) await writeFile(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function checkpointName(step: number): string {
  return `step-${String(step).padStart(7, "0")}`;
}

async function checkpoints(path: string): Promise<{ step: number; path: string }[]> {
  const folder = join(path, "checkpoints");
  const names = (await readdir(folder)).map((name) => name.replace(/^\.(step-\d+)\.old$/, "$1"));
  const steps = [...new Set(names.filter((name) => /^step-\d+$/.test(name)))].sort();
  for (const name of steps) await recoverFolder(join(folder, name));
  return steps.map((name) => ({ step: Number(name.slice(5)), path: join(folder, name) }));
}

async function newestCheckpoint(path: string): Promise<{ step: number; path: string } | null> {
  return (await checkpoints(path)).at(-1) ?? null;
}
