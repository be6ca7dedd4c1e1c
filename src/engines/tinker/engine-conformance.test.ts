import { after, describe, it } from "node:test";
import { loopbackTrainer } from "../../../test/engine/loopback-trainer.ts";
import { engineConformance } from "../../../test/fixtures/conformance/engine-conformance.ts";
import { whole } from "../../../test/fixtures/test-size.ts";
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
  // The engine behind the server has passed them all; here they are about the wire, so one in two in the short tier.
  const checks = engineConformance(() => server.open()).filter((_, index) => whole || index % 2 === 0);
  for (const { name, run } of checks) it(name, run);
});
