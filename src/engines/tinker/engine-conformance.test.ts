import { after, describe, it } from "node:test";
import { loopbackTrainer } from "../../../test/engine/loopback-trainer.ts";
import { engineConformance } from "../../testing/engine-conformance.ts";
import { modelConfig } from "../embedded/model/config.ts";

const config = modelConfig({
  vocabularySize: 12,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  intermediateSize: 24,
  maxContext: 64,
});
const server = await loopbackTrainer({ config, seed: 3, embeddingDeviation: 0.4, threads: 1 }, config);
after(() => server.close());

describe("the Tinker client on our own server", () => {
  for (const { name, run } of engineConformance(() => server.open())) it(name, run);
});
