/**
 * Training speed of the embedded engine: whole steps (forward, backward, clipping, AdamW) of two model sizes on one and
 * two threads, interleaved step by step with the same model in eager PyTorch where a python3 with torch is found. On a
 * busy machine wall-clock times say little, so processor time is compared as well. COA_BENCH_STEPS sets how many steps,
 * COA_BENCH_MODELS which models (S,L), COA_PYTHON which python.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Figure } from "../scripts/bench.ts";
import { createGraph } from "../src/engines/embedded/onnx/graph.ts";
import { gemm } from "../src/engines/embedded/onnx/operators.ts";
import { openNativeRuntime } from "../src/engines/embedded/runtime/native.ts";

const steps = Number(process.env["COA_BENCH_STEPS"] ?? 8);
const chosen = (process.env["COA_BENCH_MODELS"] ?? "S,L").split(",");
const models = {
  S: { vocabularySize: 4096, hiddenSize: 128, layers: 4, heads: 4, intermediateSize: 384, length: 256, rows: 8 },
  L: { vocabularySize: 4096, hiddenSize: 256, layers: 6, heads: 8, intermediateSize: 768, length: 512, rows: 4 },
};

interface Stepped {
  wallMs: number;
  cpuMs: number;
  loss: number;
  peakBytes: number;
}

/** A child that makes one step per line it is sent. */
interface Stepper {
  name: string;
  step(): Promise<Stepped>;
  stop(): void;
}

export default async function bench(): Promise<Figure[]> {
  const python = findTorch();
  const figures: Figure[] = [];
  for (const [size, model] of Object.entries(models)) {
    if (!chosen.includes(size)) continue;
    for (const threads of [1, 2]) {
      const setting = JSON.stringify({ ...model, threads });
      const ours = await startStepper(process.execPath, [join(import.meta.dirname, "engine", "our-steps.ts"), setting]);
      const theirs = python
        ? await startStepper(python, [join(import.meta.dirname, "engine", "torch-steps.py"), setting])
        : undefined;
      const gemmPeak = await openGemm(threads);
      const results: Stepped[][] = [[], []]; // [ours, theirs][step]
      let peak = 0;
      for (let step = 0; step < steps; step++) {
        results[0]!.push(await ours.step());
        if (theirs) results[1]!.push(await theirs.step());
        peak = Math.max(peak, await gemmPeak());
      }
      ours.stop();
      theirs?.stop();
      figures.push(...figuresOf({ size, model, threads, peak, peer: theirs?.name, results }));
    }
  }
  return figures;
}

function figuresOf(run: {
  size: string;
  model: (typeof models)["S"];
  threads: number;
  peak: number;
  peer: string | undefined;
  results: Stepped[][];
}): Figure[] {
  const { model, threads, results, peer } = run;
  const tokens = model.length * model.rows;
  const least = (list: Stepped[], key: keyof Stepped) => Math.min(...list.map((entry) => entry[key]));
  const [ours, theirs] = results as [Stepped[], Stepped[]];
  const label = `train ${run.size}, ${threads} thread${threads > 1 ? "s" : ""}`;
  const target = threads === 1 ? 1.3 : 1.5;
  const compare = (key: "wallMs" | "cpuMs" | "peakBytes") => least(theirs, key) / least(ours, key);
  const matrices =
    model.vocabularySize * model.hiddenSize +
    model.layers * model.hiddenSize * (4 * model.hiddenSize + 3 * model.intermediateSize);
  // Three passes of two operations per weight and token, and of the causal half of attention.
  const operations = 6 * tokens * matrices + 6 * tokens * model.length * model.hiddenSize * model.layers;
  const reached = operations / least(ours, "wallMs") / 1e6 / run.peak;
  const peerOf = (ratio: number) => (peer ? { peer, ratio, target: `${target}x`, met: ratio >= target } : {});
  return [
    { name: label, value: (1000 * tokens) / least(ours, "wallMs"), unit: "tokens/s", ...peerOf(compare("wallMs")) },
    {
      name: `${label}, processor time`,
      value: (1000 * tokens) / least(ours, "cpuMs"),
      unit: "tokens/cpu-s",
      ...(peer ? { peer, ratio: compare("cpuMs") } : {}),
    },
    {
      name: `${label}, share of GEMM peak`,
      value: 100 * reached,
      unit: `% of ${run.peak.toFixed(0)} GFLOPS`,
      target: "60 %",
      met: reached >= 0.6,
    },
    {
      name: `${label}, peak memory`,
      value: least(ours.slice(-1), "peakBytes") / 2 ** 20,
      unit: "MB",
      ...(peer ? { peer, ratio: compare("peakBytes"), target: "1x", met: compare("peakBytes") >= 1 } : {}),
    },
  ];
}

/** Measures the largest rate of a big matrix product, in GFLOPS. */
async function openGemm(threads: number): Promise<() => Promise<number>> {
  const size = 1024;
  const graph = createGraph();
  const [a, b] = [graph.input("a", "float32", [size, size]), graph.input("b", "float32", [size, size])];
  graph.output("c", gemm(graph, a, b));
  const session = await (await openNativeRuntime({ threads })).load(graph.encode());
  const matrix = () => ({
    data: Float32Array.from({ length: size * size }, () => Math.random() - 0.5),
    shape: [size, size],
  });
  const feeds = { a: matrix(), b: matrix() };
  return async () => {
    const start = performance.now();
    await session.run(feeds);
    return (2 * size ** 3) / (performance.now() - start) / 1e6;
  };
}

function findTorch(): string | undefined {
  const candidates = [process.env["COA_PYTHON"], "python3", "/usr/bin/python3"].filter((path) => path !== undefined);
  return candidates.find((path) => spawnSync(path, ["-c", "import torch"], { stdio: "ignore" }).status === 0);
}

async function startStepper(command: string, args: string[]): Promise<Stepper> {
  const child: ChildProcess = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${command} ${args[0]} ended early`);
    return JSON.parse(value);
  };
  const { name } = await next();
  return {
    name,
    step() {
      child.stdin!.write("\n");
      return next();
    },
    stop: () => child.stdin!.end(),
  };
}
