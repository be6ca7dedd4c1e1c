import { describe, it } from "node:test";
import { engineConformance } from "../../../test/fixtures/conformance/engine-conformance.ts";
import { whole } from "../../../test/fixtures/test-size.ts";
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

/** The checks on an engine opened with these options. */
const checks = (more: Partial<Parameters<typeof openEmbeddedEngine>[0]> = {}) =>
  engineConformance(() => openEmbeddedEngine({ ...options, ...more }));

/** One check in three here, all of them in the long tier: the engine is the same but for what the options change. */
const some = <T>(list: T[]) => list.filter((_, index) => whole || index % 3 === 0);

describe("the embedded engine", () => {
  for (const { name, run } of checks()) it(name, run);
});

describe("the embedded engine with an adapter", () => {
  for (const { name, run } of some(checks({ lora: { rank: 4, alpha: 8, seed: 5 } }))) it(name, run);
});

describe("the embedded engine with a Qwen3 model", () => {
  const qwen3 = modelConfig({ ...config, architecture: "qwen3", headSize: 24 });
  const sampling = checks({ config: qwen3 }).filter(({ name }) => /sample|publish/.test(name));
  for (const { name, run } of some(sampling)) it(name, run);
});

describe("the embedded engine with a Llama 3.1 model", () => {
  const llama = modelConfig({ ...config, architecture: "llama", ropeTheta: 100 });
  const ropeScaling = { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 8 };
  const sampling = checks({ config: { ...llama, ropeScaling } }).filter(({ name }) => /sample|publish/.test(name));
  for (const { name, run } of some(sampling)) it(name, run);
});
