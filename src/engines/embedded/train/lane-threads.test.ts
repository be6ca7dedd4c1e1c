import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { openRuntime } from "../runtime/runtime.ts";
import { shareParameters } from "../shared-base.ts";
import { createTrainer } from "./create-trainer.ts";
import { chooseLanes, startLane } from "./gradient-lane.ts";

const config = modelConfig({ vocabularySize: 11, hiddenSize: 16, layers: 2, heads: 2, intermediateSize: 20 });
const random = seededRandom(3);
const examples = Array.from({ length: 20 }, () => {
  const ids = Int32Array.from({ length: 61 }, () => Math.floor(random.next() * config.vocabularySize));
  return { input: ids.slice(0, -1), targets: ids.slice(1), weights: new Float32Array(60).fill(1 / 60) };
});

describe("lanes", () => {
  it("adds nothing of a pass that failed in a lane to the next", async () => {
    const parameters = shareParameters(initialParameters(config, 1));
    const trainer = createTrainer({
      config,
      parameters,
      runtime: openRuntime({ threads: 2 }),
      lanes: { count: 2, threads: 1 },
    });
    const alone = createTrainer({ config, parameters, runtime: openRuntime({ threads: 2 }) });
    const weight = parameters.get("model.norm.weight")!.data;
    const kept = weight[0]!;
    weight[0] = Number.NaN;
    await assert.rejects(trainer.forwardBackward(examples, { name: "cross_entropy" }), /not a number/);
    await assert.rejects(trainer.optimStep({ learningRate: 1 }), /its gradients are forgotten/);
    weight[0] = kept;
    const found = await trainer.forwardBackward(examples, { name: "cross_entropy" });
    const expected = await alone.forwardBackward(examples, { name: "cross_entropy" });
    found.logprobs.forEach((row, number) => {
      row.forEach((logprob, at) => {
        assert.ok(Math.abs(logprob - expected.logprobs[number]![at]!) < 1e-5);
      });
    });
    for (const [name, gradient] of alone.gradients()) {
      const other = trainer.gradients().get(name)!;
      const scale = Math.hypot(...gradient);
      for (const [i, value] of gradient.entries()) assert.ok(Math.abs(value - other[i]!) < 1e-5 * scale, name);
    }
    await Promise.all([trainer.close(), alone.close()]);
  });
});

describe("gradients", () => {
  it("lie in memory once while they are summed, and not at all after the step", async () => {
    const wide = modelConfig({ vocabularySize: 11, hiddenSize: 512, layers: 1, heads: 2, intermediateSize: 2048 });
    const parameters = initialParameters(wide, 1);
    const bytes = [...parameters.values()].reduce((sum, { data }) => sum + data.byteLength, 0);
    const trainer = createTrainer({ config: wide, parameters, runtime: openRuntime({ threads: 1 }) });
    const batch = examples.slice(0, 2);
    const held = () => process.memoryUsage().arrayBuffers;
    await trainer.forwardBackward(batch, { name: "cross_entropy" });
    await trainer.optimStep({ learningRate: 1e-4 });
    const before = held();
    for (let pass = 0; pass < 3; pass++) {
      await trainer.forwardBackward(batch, { name: "cross_entropy" });
      assert.ok(held() - before < 1.5 * bytes);
    }
    await trainer.optimStep({ learningRate: 1e-4 });
    assert.ok(held() - before < 0.5 * bytes);
    await trainer.close();
  });
});

describe("the threads that open ONNX Runtime", () => {
  it("take a command line that is longer than their usual stack", () => {
    const program = [
      `import { openEmbeddedEngine } from "${import.meta.resolve("../embedded-engine.ts")}"`,
      `const engine = await openEmbeddedEngine({ config: ${JSON.stringify(config)}, seed: 1, threads: 1 })`,
      "const example = { input: Int32Array.of(1, 2), targets: Int32Array.of(2, 3) }",
      `await engine.forward([example], { name: "cross_entropy" })`,
      "await engine.close()",
    ].join(";");
    const words = ["--input-type=module", "-e", program, "question ".repeat(10_000)];
    const { status, signal, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.deepEqual({ status, signal }, { status: 0, signal: null }, stderr);
  });
});

describe("a lane's thread", () => {
  it("rejects calls after it has stopped, later ones too", async () => {
    const parameters = shareParameters(initialParameters(config, 1));
    const lane = startLane({
      model: { config, parameters, trainable: parameters, headChunks: 1, chunkRows: 64 },
      ...{ runtime: "native", threads: 1 },
    });
    await lane.close();
    await assert.rejects(lane.run([]), /a training thread is closed; open the engine again/);
    await assert.rejects(lane.run([]), /a training thread is closed/);
  });
});

describe("chooseLanes", () => {
  it("gives a small model a lane per thread up to four, and a large one or one thread none", () => {
    assert.deepEqual(chooseLanes(config, 2), { count: 2, threads: 1 });
    assert.deepEqual(chooseLanes(config, 8), { count: 4, threads: 2 });
    assert.equal(chooseLanes(config, 1), undefined);
    const large = modelConfig({
      vocabularySize: 151_936,
      hiddenSize: 896,
      layers: 24,
      heads: 14,
      intermediateSize: 4864,
    });
    assert.equal(chooseLanes(large, 8), undefined);
  });
});
