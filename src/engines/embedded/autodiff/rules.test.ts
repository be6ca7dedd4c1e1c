import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RuleCheck, worstGradientError } from "../../../../test/engine/finite-differences.ts";
import { attentionBlocks, attentionFeeds, causalAttention, causalVisibility } from "./causal-attention.ts";
import {
  add,
  joinRows,
  linear,
  pickRows,
  prependShared,
  reshape,
  rmsNorm,
  rotary,
  rotaryTables,
  scale,
  splitRows,
  swiGlu,
  transpose,
} from "./rules.ts";

const tolerance = 2e-3;

async function agrees(check: RuleCheck): Promise<void> {
  for (const [name, error] of Object.entries(await worstGradientError(check))) {
    assert.ok(error < tolerance, `gradient of ${name} is off by ${error}`);
  }
}

describe("each vector-Jacobian rule agrees with finite differences", () => {
  it("linear, with bias", () =>
    agrees({
      inputs: { x: { shape: [3, 4] }, weight: { shape: [5, 4] }, bias: { shape: [5] } },
      build: (tape, { x, weight, bias }) => linear(tape, x!, weight!, bias),
      resultShape: [3, 5],
    }));

  it("linear, without bias", () =>
    agrees({
      inputs: { x: { shape: [2, 3] }, weight: { shape: [4, 3] } },
      build: (tape, { x, weight }) => linear(tape, x!, weight!),
      resultShape: [2, 4],
    }));

  it("add, with the same value on both sides", () =>
    agrees({
      inputs: { a: { shape: [2, 3] }, b: { shape: [2, 3] } },
      build: (tape, { a, b }) => add(tape, add(tape, a!, b!), a!),
      resultShape: [2, 3],
    }));

  it("scale", () =>
    agrees({ inputs: { a: { shape: [5] } }, build: (tape, { a }) => scale(tape, a!, -2.5), resultShape: [5] }));

  it("rmsNorm", () =>
    agrees({
      inputs: { x: { shape: [3, 8] }, weight: { shape: [8] } },
      build: (tape, { x, weight }) => rmsNorm(tape, x!, weight!, 1e-5),
      resultShape: [3, 8],
    }));

  it("swiGlu", () =>
    agrees({
      inputs: { gate: { shape: [3, 5] }, up: { shape: [3, 5] } },
      build: (tape, { gate, up }) => swiGlu(tape, gate!, up!),
      resultShape: [3, 5],
    }));

  it("reshape and transpose", () =>
    agrees({
      inputs: { a: { shape: [4, 6] } },
      build(tape, { a }) {
        const split = reshape(tape, a!, { rule: [2, 2, 2, 3], shape: [2, 2, 2, 3] }, [4, 6]);
        return scale(tape, transpose(tape, split, [0, 2, 1, 3]), 3);
      },
      resultShape: [2, 2, 2, 3],
    }));

  it("rotary", () =>
    agrees({
      inputs: { x: { shape: [2, 2, 3, 4] } },
      build: (tape, { x }) => rotary(tape, x!, rotaryTables(tape, { length: 8, frequencies: Float64Array.of(1, 0.1) })),
      resultShape: [2, 2, 3, 4],
    }));

  const integers = (values: number[], shape = [values.length]) => ({ data: BigInt64Array.from(values, BigInt), shape });

  it("pickRows: some rows, a row of zeros, and none of the others", () =>
    agrees({
      inputs: { a: { shape: [4, 2], dimensions: ["tokens", 2] } },
      feeds: { there: integers([3, 4, 1]), back: integers([3, 2, 3, 0]) },
      build: (tape, { a }) =>
        pickRows(
          tape,
          a!,
          tape.graph.input("there", "int64", ["picked"]),
          tape.graph.input("back", "int64", ["tokens"]),
        ),
      resultShape: [3, 2],
    }));

  it("splitRows and joinRows", () =>
    agrees({
      inputs: { a: { shape: [5, 2], dimensions: ["tokens", 2] } },
      feeds: { at: integers([2]) },
      build(tape, { a }) {
        const at = tape.graph.input("at", "int64", [1]);
        const [first, second] = splitRows(tape, a!, at, ["first", "second"]);
        return joinRows(tape, scale(tape, first, 2), scale(tape, second, -1), at, "tokens");
      },
      resultShape: [5, 2],
    }));

  it("prependShared: what is shared gets the sum over rows", () =>
    agrees({
      inputs: {
        shared: { shape: [1, 2, 3, 2], dimensions: [1, 2, "trunk", 2] },
        rows: { shape: [3, 2, 2, 2], dimensions: ["rows", 2, "length", 2] },
      },
      feeds: { at: integers([3]) },
      build: (tape, { shared, rows }) => prependShared(tape, shared!, rows!, tape.graph.input("at", "int64", [1])),
      resultShape: [3, 2, 5, 2],
    }));

  it("rotary at given positions, and causalAttention of fewer queries than keys", () =>
    agrees({
      inputs: {
        q: { shape: [2, 2, 3, 2], dimensions: ["rows", 2, "slots", 2] },
        k: { shape: [2, 1, 7, 2], dimensions: ["rows", 1, "length", 2] },
      },
      feeds: {
        positions: integers([0, 2, 5, 1, 3, 4], [2, 3]),
        ...attentionFeeds({ visible: [Int32Array.of(1, 3, 6), Int32Array.of(2, 4, 5)], keys: 7, blocks: 1, group: 2 }),
      },
      build(tape, { q, k }) {
        const tables = rotaryTables(tape, { length: 8, frequencies: Float64Array.of(0.5) });
        const turned = rotary(tape, q!, tables, tape.graph.input("positions", "int64", ["rows", "slots"]));
        return causalAttention(tape, turned, k!, k!, attentionBlocks(tape.graph, 1));
      },
      resultShape: [2, 2, 3, 2],
    }));

  for (const [blocks, kvHeads, length, recompute] of [
    [1, 2, 5, false],
    [1, 1, 5, false],
    [2, 1, 20, false],
    [3, 2, 36, false],
    [3, 1, 36, true],
  ] as const) {
    const kept = recompute ? "computed twice" : "kept";
    it(`causalAttention: ${blocks} blocks, 2 heads over ${kvHeads} key heads, ${length} positions, probabilities ${kept}`, () =>
      agrees({
        inputs: {
          q: { shape: [1, 2, length, 2], dimensions: ["rows", 2, "length", 2] },
          k: { shape: [1, kvHeads, length, 2], dimensions: ["rows", kvHeads, "length", 2] },
          v: { shape: [1, kvHeads, length, 2], dimensions: ["rows", kvHeads, "length", 2] },
        },
        feeds: attentionFeeds({ visible: [causalVisibility(length)], keys: length, blocks, group: 2 / kvHeads }),
        build: (tape, { q, k, v }) =>
          causalAttention(tape, q!, k!, v!, attentionBlocks(tape.graph, blocks, "", recompute)),
        resultShape: [1, 2, length, 2],
      }));
  }
});
