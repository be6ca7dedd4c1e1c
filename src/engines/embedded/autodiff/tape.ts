/**
 * Reverse-mode differentiation of a graph under construction. Every differentiable operator records, next to the nodes
 * it adds, how a gradient of its results becomes gradients of its arguments: its vector-Jacobian rule. `gradients` walks
 * the records backwards from the loss and adds those nodes too, so forward and backward end up in one graph that the
 * runtime executes in one call.
 */
import type { Graph, Value } from "../onnx/graph.ts";
import { after, sum } from "../onnx/operators.ts";

/**
 * Turns the gradients of an operator's results into those of its arguments; where `needed[i]` is false, that gradient
 * is not needed.
 */
export type Rule = (gradients: readonly (Value | undefined)[], needed: readonly boolean[]) => (Value | undefined)[];

/** A graph that remembers how to differentiate itself. */
export interface Tape {
  readonly graph: Graph;
  /** Notes how `results` came from `inputs`; returns the results. */
  record(inputs: readonly Value[], results: readonly Value[], rule: Rule): void;
  readonly records: readonly TapeRecord[];
  /** Transposed matrices by name, so that each is made once. */
  readonly transposes: Map<string, Value>;
}

/** One remembered operator. */
export interface TapeRecord {
  inputs: readonly Value[];
  results: readonly Value[];
  rule: Rule;
}

export function createTape(graph: Graph): Tape {
  const records: TapeRecord[] = [];
  return {
    graph,
    records,
    transposes: new Map(),
    record: (inputs, results, rule) => void records.push({ inputs, results, rule }),
  };
}

/**
 * `build(x)`, of which nothing but `x` is kept: for the gradient everything in between is computed again. That starts when the
 * gradient of the result is there, and ends with the gradients of all weights: otherwise it would be computed long before, or what
 * these are made of kept long after.
 */
export function computedAgain(
  tape: Tape,
  x: Value,
  weights: readonly Value[],
  build: (tape: Tape, x: Value) => Value,
): Value {
  const { graph } = tape;
  const y = build(createTape(graph), x);
  tape.record([x, ...weights], [y], ([dy], needed) => {
    const waiting = after(graph, x, [dy!]);
    const again = createTape(graph);
    const result = build(again, waiting);
    const wanted = [waiting, ...weights].filter((_, at) => needed[at]);
    const found = gradients(again, [[result, dy!]], wanted);
    const ofWeights = found.slice(1).filter((gradient) => gradient !== undefined);
    if (needed[0]) found[0] = after(graph, found[0]!, ofWeights);
    let next = 0;
    return needed.map((need) => (need ? found[next++] : undefined));
  });
  return y;
}

/**
 * Adds the backward pass: given the gradient of some values (`seeds`), the gradient of each wanted value. A wanted value
 * that does not influence the seeds gets none.
 */
export function gradients(
  tape: Tape,
  seeds: readonly (readonly [value: Value, gradient: Value])[],
  wanted: readonly Value[],
): (Value | undefined)[] {
  const influenced = new Set(wanted.map((value) => value.name));
  for (const { inputs, results } of tape.records) {
    if (inputs.some((input) => influenced.has(input.name))) for (const result of results) influenced.add(result.name);
  }
  const contributions = new Map<string, Value[]>(); // [value name][contribution]
  const contribute = (value: Value, gradient: Value) => {
    const list = contributions.get(value.name);
    if (list) list.push(gradient);
    else contributions.set(value.name, [gradient]);
  };
  const total = (value: Value): Value | undefined => {
    const list = contributions.get(value.name);
    if (!list) return undefined;
    const added = sum(tape.graph, list);
    contributions.set(value.name, [added]);
    return added;
  };
  for (const [value, gradient] of seeds) contribute(value, gradient);
  for (const { inputs, results, rule } of tape.records.toReversed()) {
    const needed = inputs.map((input) => influenced.has(input.name));
    if (!needed.some(Boolean)) continue;
    const arriving = results.map(total);
    if (arriving.every((gradient) => gradient === undefined)) continue;
    rule(arriving, needed).forEach((gradient, index) => {
      if (gradient && needed[index]) contribute(inputs[index]!, gradient);
    });
  }
  return wanted.map(total);
}
