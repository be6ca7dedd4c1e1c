/**
 * Distillation at scale: 100,000 chains through every rule-based stage, in a process of its own so that its memory can be
 * measured, and the conversion of team runs. The chains are lab runs whose names are exchanged in each copy; sums have
 * almost no names, so some of their copies are found to be duplicates. `COA_BENCH_CHAINS` sets another number.
 */
import { spawnSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Figure } from "../scripts/bench.ts";
import { distillRun } from "../src/distill/distill-run.ts";
import { labProfile } from "../src/lab/profile.ts";
import { labRuns } from "../test/distill/lab-runs.ts";

const chains = Number(process.env["COA_BENCH_CHAINS"] ?? 100_000);
const source = join(import.meta.dirname, "../src");

/** Runs it and gives the figures. */
export default async function bench(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-distill-"));
  try {
    const { runs, tasks } = await labRuns({ count: 1000, seed: 5 });
    const began = performance.now();
    const made = runs.map((run) => distillRun(run, { profile: labProfile, systemPrompt: false }));
    const conversion = runs.length / ((performance.now() - began) / 1000);
    const base = made.flatMap(({ trajectory }, index) =>
      trajectory ? [{ chain: JSON.stringify(trajectory), task: JSON.stringify(tasks[index]) }] : [],
    );
    await write(join(folder, "chains.jsonl"), copies(base, "chain"));
    await write(join(folder, "tasks.jsonl"), copies(base, "task"));
    const { size } = await stat(join(folder, "chains.jsonl"));
    const { seconds, kept, megabytes } = measure(folder);
    return [
      { name: "conversion of team runs, one thread", value: conversion, unit: "runs/s" },
      {
        name: `all stages over ${chains} chains (${Math.round(size / 1e6)} MB), one thread`,
        value: chains / seconds,
        unit: "chains/s",
      },
      { name: "kept of the chains", value: kept / chains, unit: "share" },
      { name: "most memory", value: megabytes, unit: "MB", target: "<= 1024 MB", met: megabytes <= 1024 },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies of the lines with other names in each: letters of capitalised words are moved along the alphabet. */
function* copies(base: readonly { chain: string; task: string }[], what: "chain" | "task"): Generator<string> {
  for (let index = 0; index < chains; index++) {
    const round = Math.floor(index / base.length);
    const line = base[index % base.length]![what];
    const renamed = line.replace(
      /\b(?!Good|Poor|Fair|Average)([A-Z])([a-z]{3,})\b/g,
      (_, first: string, rest: string) => {
        const letters = [...rest].map((letter, place) =>
          moved(letter, round + Math.floor(round / 26) * (place + 1), 97),
        );
        return moved(first, round, 65) + letters.join("");
      },
    );
    yield `${renamed.replaceAll("lab-train-", `lab-${round}-`)}\n`;
  }
}

function moved(letter: string, by: number, base: number): string {
  return String.fromCharCode(base + ((letter.charCodeAt(0) - base + by) % 26));
}

async function write(file: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(lines), createWriteStream(file));
}

interface Measured {
  seconds: number;
  kept: number;
  megabytes: number;
}

/** Distils in a process of its own and asks it for its largest size. */
function measure(folder: string): Measured {
  const script = `
import { distill } from ${JSON.stringify(join(source, "distill/distill.ts"))};
import { taskGrader } from ${JSON.stringify(join(source, "graders/grade-task.ts"))};
import { labProfile } from ${JSON.stringify(join(source, "lab/profile.ts"))};
const began = performance.now();
const report = await distill([${JSON.stringify(join(folder, "chains.jsonl"))}], {
  config: { profile: labProfile, systemPrompt: false, minInteractions: 4, reflection: { keepWithout: 1 }, maxTokens: 4000,
    contamination: { questions: ["In which year was the lighthouse of Cape Morven first lit?"], blockedUrls: ["evil.example/answers"] } },
  tasksFiles: [${JSON.stringify(join(folder, "tasks.jsonl"))}],
  plugins: { grade: taskGrader() },
  out: ${JSON.stringify(join(folder, "out"))},
});
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, kept: report.kept, megabytes: process.resourceUsage().maxRSS / 1024 }));`;
  const child = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0) throw new Error(`the distillation failed with code ${child.status}`);
  return JSON.parse(child.stdout.trim().split("\n").at(-1)!) as Measured;
}
