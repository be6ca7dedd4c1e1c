/** Memory of this process with one and with five adapters over one base. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { openEmbeddedEngine } from "./embedded-engine.ts";
import { modelConfig } from "./model/config.ts";
import { elementCount, type ParameterSet, parameterShapes } from "./model/parameters.ts";
import { adapterMemory, shareParameters } from "./shared-base.ts";

it("takes the memory of the base once, whatever number of adapters is trained over it", async () => {
  const config = modelConfig({
    vocabularySize: 512,
    hiddenSize: 512,
    layers: 8,
    heads: 8,
    intermediateSize: 1536,
    maxContext: 64,
  });
  const parameters: ParameterSet = new Map();
  for (const [name, shape] of parameterShapes(config))
    parameters.set(name, { shape, data: new Float32Array(elementCount(shape)).fill(0.01) });
  const base = { config, parameters: shareParameters(parameters) };
  const { base: baseBytes } = adapterMemory(config, { rank: 4 });
  assert.ok(baseBytes > 100e6);
  const example = { input: Int32Array.of(1, 2, 3), targets: Int32Array.of(2, 3, 4) };
  const open = async (seed: number) => {
    const engine = await openEmbeddedEngine({ base, lora: { rank: 4, seed }, threads: 1 });
    await engine.forwardBackward([example], { name: "cross_entropy" });
    await engine.optimStep({ learningRate: 1e-3 });
    return engine;
  };
  const engines = [await open(0)];
  try {
    const growths: number[] = [];
    for (let seed = 1; seed < 5; seed++) {
      const before = process.memoryUsage().rss;
      engines.push(await open(seed));
      growths.push(process.memoryUsage().rss - before);
    }
    // The least of them: what a thread has not collected yet counts too, and a copy of the base would be in each.
    const least = Math.min(...growths);
    console.log(
      `base ${Math.round(baseBytes / 1e6)} MB, four more adapters ${growths.map((one) => Math.round(one / 1e6))} MB`,
    );
    assert.ok(
      least < 0.625 * baseBytes,
      `each of four more adapters took ${least} bytes or more, the base has ${baseBytes}`,
    );
  } finally {
    await Promise.all(engines.map((engine) => engine.close()));
  }
});
