/**
 * The engine with real weights against its peers, in one interleaved run, by processor time with one thread: reading (prefill) and
 * decoding in f32 and in 8 bits against llama.cpp (xllamacpp, Q8_0 written by us) and PyTorch; training of all weights and of an
 * adapter on a row of 512 tokens against PyTorch in f32 and in bf16 and PEFT, with peak memory and the first step.
 *
 *   COA_WEIGHTS=<folder of GGUF files> COA_PYTHON=<python with torch, transformers, peft, xllamacpp> npm run bench -- engine-real
 *
 * COA_BENCH_MODELS: smollm2 (default), qwen-0.5b, qwen-1.5b. COA_BENCH_PARTS: sampling, training (default both), long (one chain of
 * 8,192 tokens trained by an adapter; decoding after 16,000 tokens where the model takes as many).
 * COA_BENCH_STEPS: rounds (default 2). COA_BENCH_FOLDER keeps what is converted. What is missing is left out and named.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../scripts/bench.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";
import { findTorch, type Stepped, type Stepper, startStepper } from "./engine/stepper.ts";

const files: Record<string, string> = {
  smollm2: "SmolLM2-135M-Instruct.Q4_1.gguf",
  "qwen-0.5b": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
  "qwen-1.5b": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
};
const rounds = Number(process.env["COA_BENCH_STEPS"] ?? 2);
const chosen = (process.env["COA_BENCH_MODELS"] ?? "smollm2").split(",");
const parts = (process.env["COA_BENCH_PARTS"] ?? "sampling,training").split(",");
const rowTokens = 512;
const decoding = [1, 8, 32].map((batch) => ({ do: "decode", batch, context: 64, steps: batch === 32 ? 8 : 16 }));

interface Said {
  bytes: number;
  tokens?: number;
}
type Answer = Said & Stepped;

export default async function bench(): Promise<Figure[]> {
  const weights = process.env["COA_WEIGHTS"];
  if (!weights) throw new Error("COA_WEIGHTS names no folder of GGUF files");
  const kept = process.env["COA_BENCH_FOLDER"];
  const parent = kept ?? (await mkdtemp(join(tmpdir(), "coa-real-")));
  const figures: Figure[] = [{ name: "load of the machine", value: loadavg()[0]!, unit: "" }];
  try {
    for (const name of chosen) {
      const folder = join(parent, name);
      if (!existsSync(folder)) convert(join(weights, files[name]!), folder);
      const rows = await realRows(folder, rowTokens, 2);
      if (parts.includes("sampling")) figures.push(...(await sampling(name, folder, rows)));
      if (parts.includes("training") && name === "smollm2") figures.push(...(await training(name, folder, rows)));
      if (parts.includes("long")) figures.push(...(await longChains(name, folder)));
    }
  } finally {
    if (kept === undefined) await rm(parent, { recursive: true, force: true });
  }
  return figures;
}

function convert(from: string, to: string, ...more: string[]): void {
  const words = ["src/cli/main.ts", "model", "convert", from, to, ...more];
  const { status } = spawnSync(process.execPath, words, { cwd: join(import.meta.dirname, ".."), stdio: "inherit" });
  if (status !== 0) throw new Error(`coa model convert ${from} ${to} failed`);
}

async function realRows(folder: string, length: number, count: number): Promise<number[][]> {
  const texts = ["lab-notes", "results"].map((page) =>
    readFile(join(import.meta.dirname, `../docs/${page}.md`), "utf8"),
  );
  const text = (await Promise.all(texts)).join("").slice(0, 6 * length * count);
  const tokens = [...(await loadTokenizer(folder)).encode(text)];
  return Array.from({ length: count }, (_, row) => tokens.slice(row * (length + 1), (row + 1) * (length + 1)));
}

async function sampling(name: string, folder: string, rows: number[][]): Promise<Figure[]> {
  const setting = { folder, threads: 1, lora: 0, rows };
  const python = findTorch(["transformers", "peft", "xllamacpp"])?.path;
  const sides: Record<string, Stepper<Said>> = {};
  const figures: Figure[] = [];
  const start = async (side: string, command: string, script: string, more: object) => {
    sides[side] = await startStepper<Said>(command, script, { ...setting, ...more });
    console.error(`${name}: ${sides[side].name} is open`);
  };
  // The larger models are compared in 8 bits, alone and 8 together.
  const small = name === "smollm2";
  if (small) await start("f32", process.execPath, "our-large.ts", { precision: "f32" });
  await start("8bit", process.execPath, "our-large.ts", { precision: "8bit" });
  if (python) {
    const file = `${folder}-q8_0.gguf`;
    if (!existsSync(file)) convert(folder, file, "--type", "q8_0");
    await start("llama", python, "llama-real.py", { file, type: "Q8_0" });
    if (small) await start("torch", python, "torch-large.py", {});
  } else console.error("no python3 with torch, transformers, peft and xllamacpp (COA_PYTHON names one): ours alone");
  try {
    const requests = [{ do: "prefill", batch: 1, context: rowTokens, steps: 1 }, ...decoding.slice(0, small ? 3 : 2)];
    for (const request of requests) {
      const rates = await inTurn(sides, request);
      const what = request.do === "prefill" ? `prefill ${rowTokens} tokens` : `decode ${request.batch} together`;
      const target = (side: string) => (side === "torch" || small ? 1 : 0.8);
      for (const own of ["f32", "8bit"].filter((side) => side in rates)) {
        const peers = ["llama", "torch"].filter((side) => side in rates);
        if (peers.length === 0)
          figures.push({ name: `${name} ${own}, ${what}`, value: rates[own]!, unit: "tokens/cpu-s" });
        for (const peer of peers) {
          const ratio = rates[own]! / rates[peer]!;
          const least = target(peer);
          const bar =
            own === "8bit" &&
            !(request.do === "prefill" && peer === "llama") &&
            !(request.do !== "prefill" && peer === "torch");
          figures.push({
            name: `${name} ${own}, ${what}`,
            value: rates[own]!,
            unit: "tokens/cpu-s",
            peer: `${sides[peer]!.name}: ${rates[peer]!.toFixed(0)}`,
            ratio,
            ...(bar && { target: `>= ${least}x`, met: ratio >= least }),
          });
        }
      }
    }
    const { peakBytes } = await sides["8bit"]!.step(decoding[0]!);
    const value = peakBytes / 1e9;
    const bar = name === "qwen-1.5b" ? { target: "<= 3 GB", met: value <= 3 } : {};
    figures.push({ name: `${name} 8bit, peak memory`, value, unit: "GB", ...bar });
  } finally {
    for (const side of Object.values(sides)) side.stop();
  }
  return figures;
}

/** Tokens per processor second, the best of some rounds in turn. */
async function inTurn(sides: Record<string, Stepper<Said>>, request: object): Promise<Record<string, number>> {
  const best: Record<string, number> = {};
  for (let round = 0; round < rounds; round++)
    for (const [name, side] of Object.entries(sides)) {
      const { tokens, cpuMs } = await side.step(request);
      best[name] = Math.max(best[name] ?? 0, (1000 * tokens!) / cpuMs);
      console.error(`${side.name}: ${JSON.stringify(request)} ${((1000 * tokens!) / cpuMs).toFixed(1)} tokens/cpu-s`);
    }
  return best;
}

async function training(name: string, folder: string, rows: number[][]): Promise<Figure[]> {
  const python = findTorch(["transformers", "peft"])?.path;
  const figures: Figure[] = [];
  for (const lora of [0, 16]) {
    const setting = { folder, threads: 1, lora, rows: rows.slice(0, 1) };
    const kinds: [string, string, object][] = [[process.execPath, "our-large.ts", {}]];
    if (python) kinds.push([python, "torch-large.py", {}], [python, "torch-large.py", { dtype: "bf16" }]);
    const sides: Stepper<Said>[] = [];
    for (const [command, script, more] of kinds)
      sides.push(await startStepper(command, script, { ...setting, ...more }));
    try {
      const taken: Answer[][] = sides.map(() => []);
      for (let round = 0; round <= rounds; round++)
        for (const [index, side] of sides.entries()) taken[index]!.push(await side.step({ do: "train" }));
      const warm = taken.map(([, ...list]) => Math.min(...list.map(({ cpuMs }) => cpuMs)));
      const peak = taken.map((list) => list.at(-1)!.peakBytes / 1e9);
      const what = `${name}, ${lora === 0 ? "all weights but the embedding" : `adapter of rank ${lora}`}, row of ${rowTokens}`;
      const value = (1000 * rowTokens) / warm[0]!;
      for (const [index, side] of sides.entries()) {
        if (index === 0) continue;
        const least = index === 2 ? undefined : lora === 0 ? 1 : 1.36;
        const ratio = warm[index]! / warm[0]!;
        figures.push({
          name: what,
          value,
          unit: "tokens/cpu-s",
          peer: `${side.name}: ${((1000 * rowTokens) / warm[index]!).toFixed(0)}`,
          ratio,
          ...(least !== undefined && { target: `>= ${least}x`, met: ratio >= least }),
        });
        figures.push({
          name: `${what}, peak memory`,
          value: peak[0]!,
          unit: "GB",
          peer: `${side.name}: ${peak[index]!.toFixed(2)}`,
          ratio: peak[index]! / peak[0]!,
        });
      }
      const first = taken[0]![0]!.cpuMs / 1000;
      const most = (2 * warm[0]!) / 1000 + 3;
      figures.push({
        name: `${what}, first step`,
        value: first,
        unit: "cpu-s",
        target: `<= ${most.toFixed(1)}`,
        met: first <= most,
      });
    } finally {
      for (const side of sides) side.stop();
    }
  }
  return figures;
}

/** What the longest chains take: a step of an adapter over 8,192 tokens, and decoding after 16,000. */
async function longChains(name: string, folder: string): Promise<Figure[]> {
  const figures: Figure[] = [];
  const ours = (more: object) =>
    startStepper<Said>(process.execPath, "our-large.ts", { folder, threads: 1, rows: [], lora: 0, ...more });
  if (name === "smollm2") {
    const side = await ours({ lora: 16 });
    const { cpuMs, peakBytes } = await side.step({ do: "train", rows: await realRows(folder, 8192, 1) });
    side.stop();
    const what = `${name}, adapter of rank 16, a chain of 8,192 tokens, one step`;
    const value = peakBytes / 1e9;
    figures.push({ name: what, value: 8192 / (cpuMs / 1e3), unit: "tokens/cpu-s" });
    figures.push({ name: `${what}, peak memory`, value, unit: "GB", target: "<= 8 GB", met: value <= 8 });
    return figures;
  }
  const side = await ours({ precision: "8bit" });
  const rows = await realRows(folder, 16_000, 1);
  for (const context of [64, 16_000]) {
    const { tokens, cpuMs, peakBytes } = await side.step({ do: "decode", batch: 1, context, steps: 16, rows });
    const what = `${name} 8bit, decode after ${context} tokens`;
    figures.push({ name: what, value: (1e3 * tokens!) / cpuMs, unit: "tokens/cpu-s" });
    figures.push({ name: `${what}, peak memory`, value: peakBytes / 1e9, unit: "GB" });
  }
  side.stop();
  return figures;
}
