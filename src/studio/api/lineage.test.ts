import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lineageOf, type StageView } from "./overview-reader.ts";

const stage = (path: string, kind: string, configuration: Record<string, unknown> = {}): StageView => ({
  path,
  kind,
  inputs: [],
  fingerprint: path,
  configuration,
});

describe("lineageOf", () => {
  it("follows a quickstart, whose stages name no inputs, from chains to what was measured", () => {
    const { nodes, edges } = lineageOf(
      "/w",
      [
        stage("q", "quickstart"),
        stage("q/distill", "distillation"),
        stage("q/sft/dataset", "dataset"),
        stage("q/sft/run", "training", { stage: "sft" }),
        stage("q/rl/run", "training", { stage: "rl" }),
        stage("q/evaluate/chain-rl", "evaluation", { system: "chain-rl" }),
        stage("q/evaluate/chain-sft-failing", "evaluation", { system: "chain-sft-failing" }),
        stage("q/evaluate/team-handoff", "evaluation", { system: "team-handoff" }),
        stage("other/rl", "training", { stage: "rl" }),
      ],
      [],
    );
    assert.deepEqual(
      edges.map(({ from, to }) => `${from} > ${to}`),
      [
        "q/distill > q/sft/dataset",
        "q/sft/dataset > q/sft/run",
        "q/sft/run > q/rl/run",
        "q/rl/run > q/evaluate/chain-rl",
        "q/sft/run > q/evaluate/chain-sft-failing",
      ],
    );
    const addresses = new Map(nodes.map(({ id, href }) => [id, href]));
    assert.equal(addresses.get("q/rl/run"), "/training/q%2Frl%2Frun");
    assert.equal(addresses.get("q/evaluate/chain-rl"), "/evaluations?folder=q%2Fevaluate%2Fchain-rl");
  });
});
