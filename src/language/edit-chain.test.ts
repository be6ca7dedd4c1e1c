import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { editChain } from "./edit-chain.ts";
import { webProfile } from "./profiles.ts";
import { validateSegments } from "./validate.ts";

const ratings = "information_conflict : Good\ntool_effectiveness : Good\ntrajectory_monitoring : Good";
const segments: Segment[] = [
  { tag: "think", text: "look it up", by: "model", tokens: [1, 2], logprobs: [-1, -2], filled: true },
  { tag: "plan", text: "search, then answer", by: "model", raw: "\n<plan>search, then answer</plan>\n" },
  { tag: "think", text: "first", by: "model" },
  { tag: "web_search", text: "mayor of Kamire", by: "model" },
  { tag: "observation", text: "1. Bo Ek", by: "tool" },
  { tag: "think", text: "enough", by: "model" },
  { tag: "reflection", text: ratings, by: "model" },
  { tag: "think", text: "it is Bo", by: "model" },
  { tag: "suggested_answer", text: "Bo Ek", by: "model" },
  { tag: "think", text: "check", by: "model" },
  { tag: "double_check", text: "It fits. The score this time is:4", by: "model" },
  { tag: "answer", text: "Bo Ek", by: "model" },
];
const chain: Trajectory = {
  version: 1,
  id: "c",
  taskId: "t",
  profile: "web",
  model: "m",
  prompt: [{ role: "user", content: "Who?" }],
  segments,
  answer: "Bo Ek",
  ending: { reason: "answered" },
  usage: emptyUsage(),
  violations: [],
};

describe("editChain", () => {
  it("puts other words in, keeps the white space around, and drops what spelled the old ones", () => {
    assert.deepEqual(validateSegments(webProfile, segments), []);
    const { chain: edited } = editChain(chain, [
      { segment: 0, text: "think anew" },
      { segment: 1, text: "search once" },
      { segment: 11, text: " Bo Ekholm " },
    ]);
    assert.deepEqual(edited!.segments[0], { tag: "think", text: "think anew", by: "model" });
    assert.equal(edited!.segments[1]!.raw, "\n<plan>search once</plan>\n");
    assert.equal(edited!.answer, "Bo Ekholm");
    assert.deepEqual(edited!.segments[4], segments[4]);
  });

  it("refuses what the profile forbids, in the segment itself and in those that follow from it", () => {
    const rulesOf = (segment: number, text: string) =>
      editChain(chain, [{ segment, text }]).problems?.map((problem) => [problem.segment, problem.rule]);
    assert.deepEqual(rulesOf(0, "  "), [[0, "empty-body"]]);
    assert.deepEqual(rulesOf(0, "so <answer>Bo</answer>"), [[0, "tag-in-text"]]);
    assert.deepEqual(rulesOf(10, "It fits."), [
      [10, "body-score"],
      [11, "gate-double_check"],
    ]);
    assert.deepEqual(rulesOf(6, ratings.replace("Good", "Poor")), [[8, "gate-reflection"]]);
    assert.deepEqual(rulesOf(4, "2. Someone else"), [[4, "author"]]);
    assert.deepEqual(rulesOf(99, "x"), [[99, "no-segment"]]);
    assert.deepEqual(
      editChain({ ...chain, profile: "unknown" }, [{ segment: 0, text: "x" }]).problems?.map(({ rule }) => rule),
      ["profile"],
    );
  });
});
