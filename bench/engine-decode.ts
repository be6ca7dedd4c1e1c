/**
 * Batched decoding: our sampler against a PyTorch KV-cache loop (model S of the engine: d128 L4 H4, inner 384,
 * vocabulary 4096) at B = 32, against llama.cpp in f32 at B = 8, and alone on the shapes reinforcement learning uses.
 * Rounds are interleaved and the best of each side counts; with one thread processor time is measured, with two the
 * clock, which means little unless the machine is idle. Also the
 * measurement behind the choice of WebAssembly: one layer's dense work here and in ONNX Runtime.
 *
 * llama.cpp is optional: `npm install --no-save --ignore-scripts --omit=optional node-llama-cpp@3.22.1
 * @node-llama-cpp/linux-x64@3.22.1` in bench/.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Figure } from "../scripts/bench.ts";
import { saveGguf } from "../src/engines/embedded/files/gguf-model.ts";
import { type ModelConfig, modelConfig } from "../src/engines/embedded/model/config.ts";
import { initialParameters } from "../src/engines/embedded/model/parameters.ts";
import { createSampler } from "../src/engines/embedded/sample/create-sampler.ts";
import { denseLayer } from "./decode/dense-layer.ts";
import { openLlama } from "./decode/llama-decoder.ts";

const rounds = Number(process.env["COA_BENCH_ROUNDS"] ?? 5);
const modelS = modelConfig({
  vocabularySize: 4096,
  hiddenSize: 128,
  layers: 4,
  heads: 4,
  intermediateSize: 384,
  maxContext: 2048,
});

export default async function bench(): Promise<Figure[]> {
  return [...(await dense()), ...(await againstTorch()), ...(await againstLlama()), ...shapes()];
}

/** Tokens per second of `steps` steps, all sequences past their context; of processor time with one thread. */
function ours(config: ModelConfig, batch: number, context: number, threads: number) {
  const sampler = createSampler(config, initialParameters(config, 1), { threads, maxBatch: batch, cacheBytes: 3e9 });
  const { vocabularySize } = config;
  for (let id = 0; id < batch; id++) {
    const tokens = Array.from({ length: context }, (_, index) => (id * 7 + index * 13) % vocabularySize);
    sampler.submit({ id, tokens, maxTokens: config.maxContext, seed: id });
  }
  const started = new Set<number>();
  while (started.size < batch) for (const event of sampler.step()) started.add(event.id);
  const run = (steps: number) => {
    const start = performance.now();
    const before = process.cpuUsage();
    for (let step = 0; step < steps; step++) sampler.step();
    const { user, system } = process.cpuUsage(before);
    const milliseconds = threads === 1 ? (user + system) / 1000 : performance.now() - start;
    return (batch * steps * 1000) / milliseconds;
  };
  return { run, close: () => sampler.close() };
}

async function againstTorch(): Promise<Figure[]> {
  const torch = await openTorch(modelS);
  const figures: Figure[] = [];
  for (const [context, threads] of [
    [128, 1],
    [512, 1],
    [960, 1],
    [128, 2],
    [512, 2],
    [960, 2],
  ] as const) {
    const decoder = ours(modelS, 32, context, threads);
    let [best, peer] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      best = Math.max(best, decoder.run(8));
      if (torch) peer = Math.max(peer, await torch.run({ batch: 32, context, steps: 8, threads }));
    }
    decoder.close();
    figures.push({
      name: `S, B 32, context ${context}, ${threads} thread${threads > 1 ? "s" : ""}`,
      value: best,
      unit: threads === 1 ? "tokens/cpu-s" : "tokens/s",
      ...(torch
        ? {
            peer: `PyTorch ${torch.version} eager ${peer.toFixed(0)}`,
            ratio: best / peer,
            target: ">= 2x",
            met: best / peer >= 2,
          }
        : {}),
    });
  }
  torch?.close();
  return figures;
}

async function openTorch(config: ModelConfig) {
  const python = ["/usr/bin/python3", "python3"].find((name) => spawnSync(name, ["-c", "import torch"]).status === 0);
  if (!python) return undefined;
  const sizes = [config.vocabularySize, config.hiddenSize, config.layers, config.heads, config.intermediateSize];
  const child = spawn(python, [join(import.meta.dirname, "decode/torch-decoder.py"), ...sizes.map(String)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { version } = JSON.parse((await lines.next()).value ?? "{}") as { version: string };
  return {
    version,
    async run(request: { batch: number; context: number; steps: number; threads: number }) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const answer = JSON.parse((await lines.next()).value ?? "{}") as { seconds: number; processorSeconds: number };
      const seconds = request.threads === 1 ? answer.processorSeconds : answer.seconds;
      return (request.batch * request.steps) / seconds;
    },
    close: () => child.stdin.end(),
  };
}

async function againstLlama(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-decode-"));
  try {
    const path = join(folder, "model.gguf");
    const parameters = initialParameters(modelS, 1, { copyInit: true });
    const vocabulary = Array.from({ length: modelS.vocabularySize }, (_, id) => String.fromCodePoint(0x4e00 + id));
    await saveGguf(
      path,
      { config: modelS, parameters },
      {
        tokenizer: new Map([
          ["tokenizer.ggml.model", { type: "string", value: "gpt2" }],
          ["tokenizer.ggml.pre", { type: "string", value: "gpt-2" }],
          ["tokenizer.ggml.tokens", { type: "strings", value: vocabulary }],
          ["tokenizer.ggml.token_type", { type: "i32s", value: vocabulary.map(() => 1) }],
          ["tokenizer.ggml.merges", { type: "strings", value: [] }],
        ]),
      },
    );
    const llama = await openLlama(path);
    if (!llama) return [];
    const prompt = Array.from({ length: 24 }, (_, index) => 5 + ((index * 37) % 11) * 300);
    const expected = await llama.greedy(prompt, 40);
    const sampler = createSampler(modelS, parameters);
    sampler.submit({ id: 1, tokens: prompt, maxTokens: 40, temperature: 0 });
    const tokens: number[] = [];
    while (!sampler.idle) for (const event of sampler.step()) if (event.type === "token") tokens.push(event.token);
    sampler.close();
    const same = tokens.filter((token, index) => token === expected[index]).length;
    const figures: Figure[] = [
      { name: "greedy tokens equal to llama.cpp's", value: same, unit: "of 40", target: "40", met: same === 40 },
    ];
    for (const context of [128, 512]) {
      const decoder = ours(modelS, 8, context, 1);
      let [best, peer] = [0, 0];
      for (let round = 0; round < rounds; round++) {
        best = Math.max(best, decoder.run(16));
        peer = Math.max(peer, await llama.run(8, context, 16));
      }
      decoder.close();
      const ratio = best / peer;
      figures.push({
        name: `S, B 8, context ${context}, 1 thread`,
        value: best,
        unit: "tokens/cpu-s",
        peer: `llama.cpp f32 ${peer.toFixed(0)}`,
        ratio,
        target: ">= 1x",
        met: ratio >= 1,
      });
    }
    await llama.close();
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What reinforcement learning asks for: many sequences, small vocabulary, two threads. */
function shapes(): Figure[] {
  const figures: Figure[] = [];
  for (const [hiddenSize, layers, heads, kvHeads] of [
    [128, 4, 4, 4],
    [128, 4, 4, 2],
    [192, 6, 6, 6],
    [192, 6, 6, 2],
  ] as const) {
    const config = modelConfig({ vocabularySize: 512, hiddenSize, layers, heads, kvHeads, maxContext: 2048 });
    for (const [batch, context] of [
      [64, 200],
      [64, 500],
      [64, 950],
      [256, 200],
    ] as const) {
      const decoder = ours(config, batch, context, 2);
      let best = 0;
      for (let round = 0; round < rounds; round++) best = Math.max(best, decoder.run(6));
      decoder.close();
      const name = `d${hiddenSize} L${layers} heads ${heads}/${kvHeads}, B ${batch}, context ${context}, 2 threads`;
      figures.push({ name, value: best, unit: "tokens/s", target: ">= 5000", met: best >= 5000 });
    }
  }
  return figures;
}

async function dense(): Promise<Figure[]> {
  const { ours: own, onnx, close } = await denseLayer({ rows: 48, width: 128, inner: 384 });
  let [best, peer] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 4 * rounds; round++) {
    best = Math.min(best, own());
    peer = Math.min(peer, await onnx());
  }
  await close();
  return [
    {
      name: "dense work of a layer, 48 rows, 1 thread",
      value: best * 1000,
      unit: "us",
      peer: `ONNX Runtime ${(peer * 1000).toFixed(0)} us`,
      ratio: peer / best,
    },
  ];
}
