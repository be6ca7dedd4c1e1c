/**
 * The head in pieces. Logits have a row per token and a column per vocabulary entry; for a large vocabulary they would
 * be far larger than everything else. So tokens are taken in chunks whose ends are graph inputs: each chunk scores its
 * targets, turns the loss's slope into gradients at once, and its logits are free again before the next chunk starts.
 */
import type { Graph, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { HostTensor } from "../runtime/runtime.ts";
import { type HeadGradients, headGradients, type LossInputs, lossSlope, scoreTargets } from "./loss-head.ts";

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
