/**
 * The second way of computing a gradient, used by the tests: move one number of an input a little to both sides and see
 * how much a random weighting of the outputs moves.
 */

import { seededRandom } from "../../src/base/work/random.ts";
import { createTape, gradients, type Tape } from "../../src/engines/embedded/autodiff/tape.ts";
import { createGraph, type Dimension, type Value } from "../../src/engines/embedded/onnx/graph.ts";
import type { HostTensor } from "../../src/engines/embedded/runtime/runtime.ts";
import { openRuntime } from "../../src/engines/embedded/runtime/runtime.ts";

/** What a check needs: inputs to differentiate, other feeds, and the operator. */
export interface RuleCheck {
  /** Sizes when the graph runs, by input name; `dimensions` names those that stay open while it is built. */
  inputs: Record<string, { shape: number[]; dimensions?: Dimension[] }>;
  feeds?: Record<string, HostTensor>;
  build(tape: Tape, inputs: Record<string, Value>): Value;
  resultShape: number[];
  seed?: number;
}

/** The largest difference between both gradients, relative to the largest gradient of each input. */
export async function worstGradientError(check: RuleCheck): Promise<Record<string, number>> {
  const random = seededRandom(check.seed ?? 1);
  const normal = (shape: number[]) =>
    Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => random.normal());
  const graph = createGraph();
  const tape = createTape(graph);
  const values = Object.fromEntries(
    Object.entries(check.inputs).map(([name, { shape, dimensions }]) => [
      name,
      graph.input(name, "float32", dimensions ?? shape),
    ]),
  );
  const result = check.build(tape, values);
  const seed = graph.input("seed", "float32", result.shape);
  const found = gradients(tape, [[result, seed]], Object.values(values));
  graph.output("result", result);
  Object.keys(values).forEach((name, index) => {
    graph.output(`gradient:${name}`, found[index]!);
  });

  const runtime = openRuntime({ threads: 2 });
  const session = await runtime.load(graph.encode());
  const weighting = normal(check.resultShape);
  const feeds: Record<string, HostTensor> = { ...check.feeds, seed: { data: weighting, shape: check.resultShape } };
  for (const [name, { shape }] of Object.entries(check.inputs)) feeds[name] = { data: normal(shape), shape };
  const weighted = async (): Promise<number> => {
    const { result: output } = await session.run(feeds);
    return output!.reduce((total, value, index) => total + value * weighting[index]!, 0);
  };
  const analytic = await session.run(feeds);
  const errors: Record<string, number> = {};
  for (const name of Object.keys(check.inputs)) {
    const data = feeds[name]!.data as Float32Array;
    const gradient = analytic[`gradient:${name}`]!;
    let worst = 0;
    for (let index = 0; index < data.length; index++) {
      const at = data[index]!;
      const step = 0.02;
      const probe = async (offset: number) => {
        data[index] = at + offset;
        return weighted();
      };
      const near = (await probe(step)) - (await probe(-step));
      const far = (await probe(2 * step)) - (await probe(-2 * step));
      data[index] = at;
      worst = Math.max(worst, Math.abs((8 * near - far) / (12 * step) - gradient[index]!));
    }
    errors[name] = worst / gradient.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-9);
  }
  await session.release();
  return errors;
}
