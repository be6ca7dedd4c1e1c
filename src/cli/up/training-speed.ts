/** How fast this machine trains: a small model is given a batch, and the clock says. Larger models run at least as fast per operation. */
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";

const probe = modelConfig({
  architecture: "qwen2",
  vocabularySize: 1024,
  hiddenSize: 128,
  layers: 2,
  heads: 4,
  maxContext: 512,
});
const batchTokens = 1024;

let known: Promise<number> | undefined;

/** Operations per second in training, by the usual count of 6 per parameter and token; measured once. */
export function trainingSpeed(): Promise<number> {
  known ??= measure();
  return known;
}

async function measure(): Promise<number> {
  const engine = await openEmbeddedEngine({ config: probe, seed: 1 });
  try {
    const input = Int32Array.from({ length: 512 }, (_, index) => (index * 7) % 1024);
    const example = {
      input,
      targets: input.map((token) => (token + 7) % 1024),
      weights: new Float32Array(512).fill(1),
    };
    const step = async () => {
      await engine.forwardBackward([example, example], { name: "cross_entropy" });
      await engine.optimStep({ learningRate: 0 });
    };
    await step(); // builds its graphs
    const started = performance.now();
    await step();
    return (6 * parameterCount(probe) * batchTokens) / ((performance.now() - started) / 1000);
  } finally {
    await engine.close();
  }
}
