/**
 * Training speed of the embedded engine: whole steps (forward, backward, clipping, AdamW) of two model sizes on one and
 * two threads, interleaved step by step with the same model in eager PyTorch where a python3 with torch is found. On a
 * busy machine wall-clock times say little, so processor time is compared as well. COA_BENCH_STEPS sets how many steps,
 * COA_BENCH_MODELS which models (S,L), COA_PYTHON which python.
 */
import type { Figure } from "../scripts/bench.ts";
import { createGraph } from "../src/engines/embedded/onnx/graph.ts";
import { gemm } from "../src/engines/embedded/onnx/operators.ts";
import { openRuntime } from "../src/engines/embedded/runtime/runtime.ts";
import { findTorch, least, type Measure, type Stepped, type Stepper, startStepper } from "./engine/stepper.ts";

const steps = Number(process.env["COA_BENCH_STEPS"] ?? 8);
const chosen = (process.env["COA_BENCH_MODELS"] ?? "S,L").split(",");
const models = {
  S: { vocabularySize: 4096, hiddenSize: 128, layers: 4, heads: 4, intermediateSize: 384, length: 256, rows: 8 },
  L: { vocabularySize: 4096, hiddenSize: 256, layers: 6, heads: 8, intermediateSize: 768, length: 512, rows: 4 },
};

export default async function bench(): Promise<Figure[]> {
  const python = findTorch();
  const figures: Figure[] = [];
  for (const [size, model] of Object.entries(models)) {
    if (!chosen.includes(size)) continue;
    for (const threads of [1, 2]) {
      const setting = { ...model, threads };
      const ours = await startStepper(process.execPath, "our-steps.ts", setting);
      const peers: Stepper[] = [];
      if (python) peers.push(await startStepper(python.path, "torch-steps.py", setting));
      if (python?.compiles)
        peers.push(await startStepper(python.path, "torch-steps.py", { ...setting, compile: true }));
      const gemmPeak = await openGemm(threads);
      const steppers = [ours, ...peers];
      const results: Stepped[][] = steppers.map(() => []); // [stepper][step]
      let peak = 0;
      for (let step = 0; step < steps; step++) {
        for (const [index, stepper] of steppers.entries()) results[index]!.push(await stepper.step());
        peak = Math.max(peak, await gemmPeak());
      }
      for (const stepper of steppers) stepper.stop();
      const label = `train ${size}, ${threads} thread${threads > 1 ? "s" : ""}`;
      figures.push(...ownFigures(label, model, peak, results[0]!));
      for (const [index, { name, compiled }] of peers.entries()) {
        const target = compiled ? 1 : threads === 1 ? 1.3 : 1.5;
        figures.push(...comparison(label, name, target, results[0]!, results[index + 1]!));
      }
    }
  }
  return figures;
}

function ownFigures(label: string, model: (typeof models)["S"], peak: number, ours: Stepped[]): Figure[] {
  const tokens = model.length * model.rows;
  const matrices =
    model.vocabularySize * model.hiddenSize +
    model.layers * model.hiddenSize * (4 * model.hiddenSize + 3 * model.intermediateSize);
  // Three passes of two operations per weight and token, and of the causal half of attention.
  const operations = 6 * tokens * matrices + 6 * tokens * model.length * model.hiddenSize * model.layers;
  const share = operations / least(ours, "wallMs") / 1e6 / peak;
  return [
    { name: label, value: (1000 * tokens) / least(ours, "wallMs"), unit: "tokens/s" },
    { name: `${label}, processor time`, value: (1000 * tokens) / least(ours, "cpuMs"), unit: "tokens/cpu-s" },
    {
      name: `${label}, share of GEMM peak`,
      value: 100 * share,
      unit: `% of ${peak.toFixed(0)} GFLOPS`,
      target: "60 %",
      met: share >= 0.6,
    },
  ];
}

function comparison(label: string, peer: string, target: number, ours: Stepped[], theirs: Stepped[]): Figure[] {
  const figure = (what: string, key: Measure, unit: string, scale: number, wanted?: number): Figure => {
    const ratio = key === "peakBytes" ? theirs.at(-1)![key] / ours.at(-1)![key] : least(theirs, key) / least(ours, key);
    const judged = wanted === undefined ? {} : { target: `${wanted}x`, met: ratio >= wanted };
    return { name: `${label}, ${what}`, value: least(ours, key) * scale, unit, peer, ratio, ...judged };
  };
  return [
    figure("a step", "wallMs", "ms", 1, target),
    figure("a step's processor time", "cpuMs", "ms", 1),
    figure("peak memory", "peakBytes", "MB", 2 ** -20, 1),
  ];
}

/** Measures the largest rate of a big matrix product, in GFLOPS. */
async function openGemm(threads: number): Promise<() => Promise<number>> {
  const size = 1024;
  const graph = createGraph();
  const [a, b] = [graph.input("a", "float32", [size, size]), graph.input("b", "float32", [size, size])];
  graph.output("c", gemm(graph, a, b));
  const session = await openRuntime({ threads }).load(graph.encode());
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
