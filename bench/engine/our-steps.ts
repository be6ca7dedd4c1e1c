/** One training step per line of input, timed, by the embedded engine's trainer. Speaks JSON lines, as torch-steps.py does. */
import { createInterface } from "node:readline";
import { modelConfig } from "../../src/engines/embedded/model/config.ts";
import { initialParameters } from "../../src/engines/embedded/model/parameters.ts";
import { openRuntime } from "../../src/engines/embedded/runtime/runtime.ts";
import { shareParameters } from "../../src/engines/embedded/shared-base.ts";
import { createTrainer } from "../../src/engines/embedded/train/create-trainer.ts";
import { chooseLanes } from "../../src/engines/embedded/train/gradient-lane.ts";

const setting = JSON.parse(process.argv[2]!);
const config = modelConfig({ ...setting, architecture: "llama", maxContext: setting.length });
const runtime = openRuntime({ threads: setting.threads });
const parameters = shareParameters(initialParameters(config, 1));
const lanes = chooseLanes(config, setting.threads);
const trainer = createTrainer({ config, parameters, runtime, lanes });
const examples = Array.from({ length: setting.rows }, () => {
  const ids = Int32Array.from({ length: setting.length + 1 }, () => Math.floor(Math.random() * setting.vocabularySize));
  const weights = new Float32Array(setting.length).fill(1 / (setting.rows * setting.length));
  return { input: ids.slice(0, -1), targets: ids.slice(1), weights };
});
console.log(JSON.stringify({ name: "chain-of-agents" }));
for await (const _ of createInterface({ input: process.stdin })) {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  await trainer.forwardBackward(examples, { name: "cross_entropy" });
  await trainer.optimStep({ learningRate: 1e-3, gradientClip: 1 });
  const used = process.cpuUsage(cpu);
  const wallMs = performance.now() - wall;
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ wallMs, cpuMs: (used.user + used.system) / 1e3, peakBytes }));
}
process.exit(0);
