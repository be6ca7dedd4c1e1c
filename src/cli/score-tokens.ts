/** Log-probabilities of tokens under the model in a folder. */
import { openEmbeddedEngine } from "../engines/embedded/embedded-engine.ts";

/** One for each token but the first, which has nothing before it; the engine is opened for it and closed again. */
export async function scoreTokens(folder: string, tokens: readonly number[]): Promise<number[]> {
  const engine = await openEmbeddedEngine({ folder });
  try {
    const input = Int32Array.from(tokens.slice(0, -1));
    const targets = Int32Array.from(tokens.slice(1));
    const weights = new Float32Array(targets.length).fill(1);
    const { logprobs } = await engine.forward([{ input, targets, weights }], { name: "cross_entropy" });
    return [...logprobs[0]!];
  } finally {
    await engine.close();
  }
}
