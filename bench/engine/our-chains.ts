/** One training step on a batch of chains per line of input, timed, by the embedded engine. Speaks JSON lines. */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createAdapter } from "../../src/engines/embedded/lora/adapter.ts";
import { modelConfig } from "../../src/engines/embedded/model/config.ts";
import { initialParameters } from "../../src/engines/embedded/model/parameters.ts";
import { openRuntime } from "../../src/engines/embedded/runtime/runtime.ts";
import { createTrainer } from "../../src/engines/embedded/train/create-trainer.ts";

const { model, threads, lora, batch: file } = JSON.parse(process.argv[2]!);
const config = modelConfig(model);
const runtime = openRuntime({ threads });
const adapter = lora ? createAdapter(config, { rank: lora }, 2) : undefined;
const trainer = createTrainer({ config, parameters: initialParameters(config, 1), runtime, adapter });
const batch: { tokens: number[]; weights: number[] }[] = JSON.parse(readFileSync(file, "utf8"));
const examples = batch.map(({ tokens, weights }) => ({
  input: Int32Array.from(tokens.slice(0, -1)),
  targets: Int32Array.from(tokens.slice(1)),
  weights: Float32Array.from(weights),
}));
console.log(JSON.stringify({ name: "chain-of-agents" }));
for await (const _ of createInterface({ input: process.stdin })) {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  const { logprobs } = await trainer.forwardBackward(examples, { name: "cross_entropy" });
  const loss = -examples.reduce(
    (sum, { weights }, at) => sum + weights.reduce((total, weight, token) => total + weight * logprobs[at]![token]!, 0),
    0,
  );
  // A rate too small to change the model within the run, so that all steps show one loss.
  await trainer.optimStep({ learningRate: 1e-12, gradientClip: 1 });
  const used = process.cpuUsage(cpu);
  const wallMs = performance.now() - wall;
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ wallMs, cpuMs: (used.user + used.system) / 1e3, loss, peakBytes }));
}
process.exit(0);
