import { describe, it } from "node:test";
import { engineConformance } from "../../testing/engine-conformance.ts";
import { openEmbeddedEngine } from "./embedded-engine.ts";
import { modelConfig } from "./model/config.ts";

const config = modelConfig({
  vocabularySize: 12,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  intermediateSize: 24,
  maxContext: 64,
});
const options = { config, seed: 3, embeddingDeviation: 0.4, threads: 1 };

describe("the embedded engine", () => {
  for (const { name, run } of engineConformance(() => openEmbeddedEngine(options))) it(name, run);
});

describe("the embedded engine with an adapter", () => {
  const lora = { rank: 4, alpha: 8, seed: 5 };
  for (const { name, run } of engineConformance(() => openEmbeddedEngine({ ...options, lora }))) it(name, run);
});

describe("the embedded engine with a Qwen3 model", () => {
  const qwen3 = { ...options, config: modelConfig({ ...config, architecture: "qwen3", headSize: 24 }) };
  const sampling = engineConformance(() => openEmbeddedEngine(qwen3)).filter(({ name }) => /sample|publish/.test(name));
  for (const { name, run } of sampling) it(name, run);
});

describe("the embedded engine with a Llama 3.1 model", () => {
  const llama = modelConfig({ ...config, architecture: "llama", ropeTheta: 100 });
  const ropeScaling = { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 8 };
  const scaled = { ...options, config: { ...llama, ropeScaling } };
  const sampling = engineConformance(() => openEmbeddedEngine(scaled)).filter(({ name }) =>
    /sample|publish/.test(name),
  );
  for (const { name, run } of sampling) it(name, run);
});
