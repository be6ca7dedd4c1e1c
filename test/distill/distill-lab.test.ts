import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { trajectoryText } from "../../src/core/trajectory.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labProfile } from "../../src/lab/profile.ts";
import type { Profile } from "../../src/language/profile.ts";
import { multiProfile } from "../../src/language/profiles.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { testSize } from "../fixtures/test-size.ts";
import { type LabRuns, labRuns } from "./lab-runs.ts";
import { comparable, replayChain } from "./replay-chain.ts";

const options = (profile: Profile) => ({
  profile,
  systemPrompt: false as const,
});
const rounds = testSize(100, 1000);

describe("distillRun over lab runs", () => {
  const made: LabRuns[] = [];
  before(async () => {
    const share = Math.ceil(rounds / 4);
    made.push(await labRuns({ count: share, seed: 1 }));
    made.push(await labRuns({ count: share, seed: 2, topology: "handoff" }));
    made.push(await labRuns({ count: share, seed: 3, imperfect: 0.4 }));
    made.push(await labRuns({ count: share, seed: 4, topology: "handoff", imperfect: 0.4 }));
  });

  it(`converts every answered run of ${rounds} into a chain that obeys the profile and replays exactly`, async () => {
    let converted = 0;
    for (const { runs } of made) {
      for (const run of runs) {
        const { trajectory, failure } = distillRun(run, options(labProfile));
        if (!trajectory) {
          // The only honest reason: the verifier never accepted what the run gave as its answer.
          assert.match(failure.rule, /^(?:gate-double_check|answer-missing)$/, `${run.id}: ${failure.message}`);
          assert.notEqual(run.ending.verified, true);
          continue;
        }
        converted++;
        assert.deepEqual(validateSegments(labProfile, trajectory.segments), []);
        const replayed = await replayChain(trajectory, run, labProfile);
        assert.deepEqual(comparable(replayed.segments), comparable(trajectory.segments), run.id);
        assert.equal(replayed.answer, trajectory.answer);
      }
    }
    assert.ok(converted > rounds * 0.95, `${converted} of ${rounds}`);
  });

  it("converts the same runs into the multi profile, in the paper's layout and with its prompt, and replays them", async () => {
    for (const { runs } of made) {
      for (const run of runs.slice(0, 40)) {
        const { trajectory } = distillRun(run, { ...options(multiProfile), systemPrompt: undefined });
        if (!trajectory) continue;
        assert.equal(trajectory.prompt[0]?.role, "system");
        const replayed = await replayChain(trajectory, run, multiProfile);
        assert.deepEqual(comparable(replayed.segments), comparable(trajectory.segments), run.id);
      }
    }
  });

  it("takes inputs, observations and answers over byte for byte, and says each thing once", () => {
    for (const { runs } of made) {
      for (const run of runs.slice(0, 50)) {
        const { trajectory } = distillRun(run, options(labProfile));
        if (!trajectory) continue;
        const calls = run.steps
          .flatMap((step) => step.toolCalls)
          .filter((call) => call.delegatesTo === undefined && !call.name.startsWith("transfer_to_"));
        const observed = trajectory.segments.flatMap((segment) => (segment.call ? [segment.text] : []));
        const distinct = [...new Map(calls.map((call) => [call.name + call.arguments, call.result])).values()];
        assert.deepEqual(observed, distinct);
        assert.equal(trajectory.segments.at(-1)?.text, ` ${run.answer}`);
        assert.equal(trajectory.distilled?.filledThoughts, 0);
        assert.ok(
          !trajectoryText(trajectory.segments).includes("Pages found:"),
          "a report that repeats an observation",
        );
      }
    }
  });

  it("gives the same chain for the same run", () => {
    for (const run of made[0]!.runs.slice(0, 20)) {
      assert.deepEqual(distillRun(run, options(labProfile)), distillRun(structuredClone(run), options(labProfile)));
    }
  });
});
