/**
 * The head in pieces. Logits have a row per token and a column per vocabulary entry; for a large vocabulary they would
 * be far larger than everything else. So tokens are taken in chunks whose ends are graph inputs: each chunk scores its
 * targets, turns the loss's slope into gradients at once, and its logits are free again before the next chunk starts.
 */
import { largestGap } from "../../../base/count/policy-loss.ts";
import type { Graph, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { HostTensor } from "../runtime/runtime.ts";

/** What a head is built from; without `loss` it only scores. */
export interface HeadParts {
  states: Value; // [tokens, hidden]
  head: Value; // [vocabulary, hidden]
  targets: Value; // [tokens]
  sharpness: Value; // []
  loss?: LossInputs;
  needHead: boolean;
  chunks: number;
}

/** Log-probabilities of all targets and, with a loss, the gradients that leave the head. */
export function chunkedHead(graph: Graph, parts: HeadParts): { logprobs: Value; gradients?: HeadGradients } {
  const { chunks, head, targets, loss } = parts;
  const states = on.multiply(graph, parts.states, parts.sharpness);
  const edges =
    chunks === 1 ? [] : Array.from({ length: chunks + 1 }, (_, index) => graph.input(`chunk${index}`, "int64", [1]));
  const cut = (value: Value, index: number) =>
    chunks === 1 ? value : on.sliceBetween(graph, value, 0, edges[index]!, edges[index + 1]!, `chunk${index}`);
  const logprobs: Value[] = [];
  const gradients: HeadGradients[] = [];
  for (let index = 0; index < chunks; index++) {
    const piece = { states: cut(states, index), targets: cut(targets, index) };
    const scored = scoreTargets(graph, piece.states, head, piece.targets);
    logprobs.push(scored.logprobs);
    if (!loss) continue;
    const slope = lossSlope(graph, scored.logprobs, {
      ...loss,
      factor: cut(loss.factor, index),
      old: cut(loss.old, index),
    });
    gradients.push(headGradients(graph, scored, { ...piece, head, slope, needHead: parts.needHead }));
  }
  const join = (values: Value[]) => on.concatTo(graph, values, 0, states.shape[0]!);
  return {
    logprobs: join(logprobs),
    ...(loss
      ? {
          gradients: {
            states: on.multiply(graph, join(gradients.map((gradient) => gradient.states)), parts.sharpness),
            ...(parts.needHead
              ? {
                  head: on.sum(
                    graph,
                    gradients.map((gradient) => gradient.head!),
                  ),
                  headRows: join(gradients.map((gradient) => gradient.headRows!)),
                }
              : {}),
          },
        }
      : {}),
  };
}

/**
 * The chunk ends for a number of tokens. As few chunks as may hold `rows` tokens each are used, of even size, and the others
 * stay empty: a product of few rows is slow, for the head is read again by each.
 */
export function chunkFeeds(tokens: number, chunks: number, rows = 1): Record<string, HostTensor> {
  if (chunks === 1) return {};
  const used = Math.max(1, Math.min(chunks, Math.ceil(tokens / rows)));
  return Object.fromEntries(
    Array.from({ length: chunks + 1 }, (_, index) => [
      `chunk${index}`,
      { data: BigInt64Array.of(BigInt(Math.floor((tokens * Math.min(index, used)) / used))), shape: [1] },
    ]),
  );
}

/** Scores targets [tokens] under `states headᵀ`: `logprobs` is [tokens, 1], `allLogprobs` [tokens, vocabulary]. */
function scoreTargets(graph: Graph, states: Value, head: Value, targets: Value) {
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
function lossSlope(graph: Graph, logprobs: Value, inputs: LossInputs): Value {
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

interface HeadGradients {
  states: Value; // [tokens, hidden]
  /** The dense part of the head's gradient, [vocabulary, hidden]. */
  head?: Value;
  /** To be added to row `target` of the head's gradient, token by token, [tokens, hidden]. */
  headRows?: Value;
}

/**
 * Backward half: `slope` is the loss's slope per target. The slope of a log-probability by its logits is `onehot - p`; the one-hot
 * part is never materialised: towards the states it is a look-up of the target's row, towards the head one row per token, which the
 * caller adds up outside the graph (inside it that is the racy ScatterND).
 */
function headGradients(
  graph: Graph,
  { allLogprobs }: { allLogprobs: Value },
  parts: { states: Value; head: Value; targets: Value; slope: Value; needHead: boolean },
): HeadGradients {
  const probabilities = on.map(graph, "Exp", allLogprobs);
  const expected = on.gemm(graph, probabilities, parts.head);
  const chosen = on.gatherRows(graph, parts.head, parts.targets);
  const states = on.multiply(graph, on.subtract(graph, chosen, expected), parts.slope);
  if (!parts.needHead) return { states };
  const headRows = on.multiply(graph, parts.states, parts.slope);
  return { states, headRows, head: on.gemm(graph, probabilities, headRows, { transposeA: true, scale: -1 }) };
}
