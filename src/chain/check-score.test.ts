import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Segment } from "../core/trajectory.ts";
import { webProfile as profile } from "../language/profiles.ts";
import { checkScore, checkSureness } from "./check-score.ts";

const tag = profile.tags.find(({ body }) => body.kind === "score")!.name;
const check = (score: number, ...probabilities: number[]): { segments: Segment[] } => ({
  segments: [
    {
      ...{ tag, by: "model", text: `The score this time is:${score}` },
      ...(probabilities.length > 0 && { logprobs: probabilities.map(Math.log) }),
    },
  ],
});
const near = (found: number | undefined, expected: number) =>
  assert.ok(found !== undefined && Math.abs(found - expected) < 1e-9, String(found));

describe("the score of a check", () => {
  it("is moved towards its neighbour by the chance that it would not have been written", () => {
    near(checkSureness(profile, check(4, 0.9)), 3.9);
    near(checkSureness(profile, check(3, 0.9)), 3.1);
    // Several tokens: all of them had to be written.
    near(checkSureness(profile, check(4, 0.5, 0.5)), 3.25);
    assert.equal(checkScore(profile, check(4, 0.5)), 4);
  });

  it("is all that is known where the model tells no probabilities, and nothing where there was no check", () => {
    assert.equal(checkScore(profile, check(2)), 2);
    assert.equal(checkSureness(profile, check(2)), undefined);
    assert.equal(checkSureness(profile, { segments: [] }), undefined);
    assert.equal(checkScore(profile, { segments: [] }), undefined);
  });
});
