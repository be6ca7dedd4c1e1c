import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../../src/core/task.ts";
import type { Segment, Trajectory } from "../../src/core/trajectory.ts";
import { emptyUsage } from "../../src/core/usage.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { mhqaProfile, multiProfile } from "../../src/language/profiles.ts";
import { checkCorrector } from "./check-corrector.ts";

const task = defineTask({ id: "one", question: "What is the length of Godute?", answers: ["104"] });
const said = (tag: string, text: string): Segment => ({ tag, text, by: "model" });
const segments = [
  said("suggested_answer", " 204"),
  said("double_check", " score 2"),
  said("suggested_answer", " 104"),
  said("think", " fits"),
  said("double_check", " score 4"),
  said("answer", " 104"),
];
const chain: Trajectory = {
  ...{ version: 1, id: "one-1", taskId: "one", profile: "lab", model: "student", prompt: [], violations: [] },
  ...{ segments, answer: "104", ending: { reason: "answered" }, usage: emptyUsage() },
};

describe("the grade as a corrector of the check", () => {
  it("asks for the highest score where the answer was right, and for the lowest that allows it where it was wrong", async () => {
    const corrector = checkCorrector(labProfile);
    assert.equal(corrector.asks, "all");
    for (const [correct, score] of [
      [true, 4],
      [false, 3],
    ] as const)
      assert.deepEqual(await corrector.correct(task, chain, { correct }), {
        correction: { from: 4, segments: [said("double_check", ` score ${score}`)], usage: emptyUsage() },
      });
  });

  it("writes the score as the profile does, with what was written around it", async () => {
    const written = { ...said("double_check", " Score: 4"), raw: "\n<double_check> Score: 4</double_check>" };
    const { correction } = await checkCorrector(multiProfile).correct(
      task,
      { ...chain, segments: [written, said("answer", "104")] },
      { correct: false },
    );
    const raw = "\n<double_check> The score this time is:3</double_check>";
    assert.deepEqual(correction?.segments, [{ ...said("double_check", " The score this time is:3"), raw }]);
  });

  it("has nothing to say without a check, an answer or a grade", async () => {
    const reason = async (...[profile, trajectory, correct]: [typeof labProfile, Trajectory, boolean | null]) => {
      const result = await checkCorrector(profile).correct(task, trajectory, { correct });
      return result.correction === null && result.reason;
    };
    assert.equal(await reason(mhqaProfile, chain, true), "nothing was checked");
    assert.equal(await reason(labProfile, { ...chain, answer: null }, false), "no answer was given");
    assert.equal(await reason(labProfile, chain, null), "the answer was not judged");
  });
});
