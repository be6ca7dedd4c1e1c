import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../src/base/work/random.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { multiProfile } from "../../src/language/profiles.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { testSize } from "../fixtures/test-size.ts";
import { wildRun } from "../fixtures/wild-team.ts";
import { assertOrigins } from "./assert-origins.ts";
import { comparable, replayChain } from "./replay-chain.ts";

const rounds = testSize(60, 600);
describe("distillRun over wild teams", () => {
  it(`gives a chain that replays exactly, or a named failure, for ${rounds} random runs`, async () => {
    const random = seededRandom(77).next;
    const failures: Record<string, number> = {};
    let converted = 0;
    for (let round = 0; round < rounds; round++) {
      const run = await wildRun(round, random);
      const profile = round % 6 < 3 ? multiProfile : { ...multiProfile, maxParallelCalls: 3 };
      const { trajectory, failure } = distillRun(run, { profile, fill: true });
      if (failure) {
        failures[failure.rule] = (failures[failure.rule] ?? 0) + 1;
        assert.ok(failure.message !== "" && (run.steps.length === 0 || failure.step !== ""), JSON.stringify(failure));
        continue;
      }
      converted++;
      assert.deepEqual(validateSegments(profile, trajectory.segments), []);
      assertOrigins(trajectory, run);
      const replayed = await replayChain(trajectory, run, profile);
      assert.deepEqual(comparable(replayed.segments), comparable(trajectory.segments), `round ${round}`);
    }
    assert.ok(converted > rounds * 0.1, `${converted} converted; ${JSON.stringify(failures)}`);
    const known =
      /^(?:gate-|answer-missing|body-|tag-in-text|successor|verification-missing|empty-body|think-misplaced|start|unknown-tool)/;
    assert.deepEqual(
      Object.keys(failures).filter((rule) => !known.test(rule)),
      [],
    );
  });
});
