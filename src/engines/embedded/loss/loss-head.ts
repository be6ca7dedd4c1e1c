/**
 * From final states to log-probabilities and back. The slope of a target's log-probability with respect to the logits is
 * `onehot - p`. The one-hot part is never materialised: towards the states it is a look-up of the target's row of the
 * head, towards the head it is one row per token, which the caller adds up outside the graph (adding rows inside it is
 * the racy ScatterND). So only the probabilities, one matrix, are as large as the vocabulary.
 */
import { largestGap } from "../../../base/count/policy-loss.ts";
import type { Graph, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";

/** Log-probability of each target, and what the backward half needs again. */
export interface LossHead {
  logprobs: Value; // [tokens, 1]
  allLogprobs: Value; // [tokens, vocabulary]
}

/** Scores targets [tokens] under `states headᵀ`. */
export function scoreTargets(graph: Graph, states: Value, head: Value, targets: Value): LossHead {
  const logits = on.gemm(graph, states, head, { transposeB: true });
  const allLogprobs = on.softmax(graph, logits, "LogSoftmax");
  const column = on.reshape(graph, targets, [targets.shape[0]!, 1]);
  return { allLogprobs, logprobs: on.gatherElements(graph, allLogprobs, column) };
}

/** Graph inputs of the loss: a factor and an old log-probability per token, and the numbers of `LossNumbers`. */
export interface LossInputs {
  factor: Value; // [tokens, 1]
  old: Value; // [tokens, 1]
  floor: Value; // []
  ceiling: Value;
  low: Value;
  high: Value;
  dual: Value;
}

/** The slope of the loss with respect to each target's log-probability, [tokens, 1] (see policy-loss.ts). */
export function lossSlope(graph: Graph, logprobs: Value, inputs: LossInputs): Value {
  const gap = on.subtract(graph, logprobs, inputs.old);
  const bound = (value: number) => on.scalar(graph, value);
  const ratio = on.map(graph, "Exp", on.clip(graph, gap, bound(-largestGap), bound(largestGap)));
  const zero = on.scalar(graph, 0);
  const positive = on.indicator(graph, "Greater", inputs.factor, zero);
  const negative = on.indicator(graph, "Less", inputs.factor, zero);
  const tooHigh = on.multiply(graph, positive, on.indicator(graph, "Greater", ratio, inputs.high));
  const tooLow = on.multiply(graph, negative, on.indicator(graph, "Less", ratio, inputs.low));
  const beyondDual = on.multiply(graph, negative, on.indicator(graph, "Greater", ratio, inputs.dual));
  // At most one of the three holds, so their sum is 0 or 1 and 1 - sum is the token's activity.
  const inactive = on.sum(graph, [tooHigh, tooLow, beyondDual]);
  const bounded = on.clip(graph, ratio, inputs.floor, inputs.ceiling);
  const size = on.multiply(graph, inputs.factor, bounded);
  return on.subtract(graph, on.multiply(graph, size, inactive), size);
}

export interface HeadGradients {
  states: Value; // [tokens, hidden]
  /** The dense part of the head's gradient, [vocabulary, hidden]. */
  head?: Value;
  /** To be added to row `target` of the head's gradient, token by token, [tokens, hidden]. */
  headRows?: Value;
}

/** Backward half: `slope` is the loss's slope per target. */
export function headGradients(
  graph: Graph,
  scored: LossHead,
  parts: { states: Value; head: Value; targets: Value; slope: Value; needHead: boolean },
): HeadGradients {
  const probabilities = on.map(graph, "Exp", scored.allLogprobs);
  const expected = on.gemm(graph, probabilities, parts.head);
  const chosen = on.gatherRows(graph, parts.head, parts.targets);
  const states = on.multiply(graph, on.subtract(graph, chosen, expected), parts.slope);
  if (!parts.needHead) return { states };
  const headRows = on.multiply(graph, parts.states, parts.slope);
  return { states, headRows, head: on.gemm(graph, probabilities, headRows, { transposeA: true, scale: -1 }) };
}
