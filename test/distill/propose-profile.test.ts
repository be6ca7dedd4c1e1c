import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TeamRun } from "../../src/core/team-run.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { proposeProfile } from "../../src/distill/propose-profile.ts";
import { toolTags } from "../../src/language/profile.ts";
import { validateSegments } from "../../src/language/validate.ts";
import { assertOrigins } from "./assert-origins.ts";
import { frameworkRun, frameworks } from "./framework-runs.ts";
import { labRuns } from "./lab-runs.ts";
import { comparable, replayChain } from "./replay-chain.ts";

/** Converts without filling anything up, and says how many runs could not be. */
async function convertAll(runs: readonly TeamRun[]) {
  const { profile, tools } = await proposeProfile(runs);
  const failures: string[] = [];
  for (const run of runs) {
    const { trajectory, failure } = distillRun(run, { profile, tools, fill: false });
    if (failure) {
      failures.push(`${run.id}: ${failure.rule} ${failure.message}`);
      continue;
    }
    assert.deepEqual(validateSegments(profile, trajectory.segments), []);
    assert.equal(trajectory.segments.filter((segment) => segment.filled).length, 0);
    assertOrigins(trajectory, run);
  }
  return { profile, failures };
}

describe("proposeProfile", () => {
  it("fits the runs of five frameworks with nothing filled in, and the chains replay exactly", async () => {
    const runs = await Promise.all(frameworks.map(frameworkRun));
    const { profile, failures } = await convertAll(runs);
    assert.deepEqual(failures, []);
    assert.ok(!profile.tags.some((tag) => tag.name === "double_check"), "no run was checked");
    for (const run of runs) {
      const { trajectory } = distillRun(run, { profile, fill: false });
      const replayed = await replayChain(trajectory!, run, profile);
      assert.deepEqual(comparable(replayed.segments, false), comparable(trajectory!.segments, false));
    }
  });

  it("gives tools that no built-in profile knows tags of their own, by the schema they were offered with", async () => {
    const [base] = (await labRuns({ count: 1, seed: 3 })).runs;
    const run = structuredClone(base!);
    for (const step of run.steps)
      for (const call of step.toolCalls) if (call.name === "web_search") call.name = "queryCatalogue";
    const { profile, failures } = await convertAll([run]);
    assert.deepEqual(failures, []);
    const tag = toolTags(profile).find(({ tool }) => tool === "queryCatalogue");
    assert.deepEqual([tag?.name, tag?.body.kind], ["query_catalogue", "text"]);
  });

  it("has a check and a plan where the runs have them", async () => {
    const { runs } = await labRuns({ count: 30, seed: 4, imperfect: 0.3 });
    const { profile, failures } = await convertAll(runs.filter((run) => run.answer !== null));
    assert.deepEqual(failures, []);
    const names = profile.tags.map((tag) => tag.name);
    for (const name of ["plan", "suggested_answer", "double_check", "web_search"])
      assert.ok(names.includes(name), name);
  });
});
