/** How likely a model finds the tokens of a text. */
import type { Engine } from "../../core/engine.ts";

/** The log-probability of every token but the first, which has nothing before it. */
export async function scoreTokens(engine: Pick<Engine, "forward">, tokens: readonly number[]): Promise<Float32Array> {
  if (tokens.length < 2) return new Float32Array();
  const example = { input: Int32Array.from(tokens.slice(0, -1)), targets: Int32Array.from(tokens.slice(1)) };
  return (await engine.forward([example], { name: "cross_entropy" })).logprobs[0]!;
}
