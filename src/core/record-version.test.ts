/** Files that earlier releases wrote are still read, by every reader, as records of the newest version. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { readTask, taskSchema } from "./task.ts";
import { readTeamRun } from "./team-run.ts";
import { contextVersions, readTrajectory, type Segment, trajectorySchema, trajectoryText } from "./trajectory.ts";

const versionOne = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`../../test/fixtures/version-1/${name}.jsonl`, import.meta.url), "utf8"));

describe("records of version 1", () => {
  it("reads a task", () => {
    const old = versionOne("task");
    assert.equal(old["version"], 1);
    assert.deepEqual(readTask(old), { ...old, version: 2 });
  });

  it("reads a team run with its ending, new plans and scores as fields", () => {
    const old = versionOne("team-run");
    assert.equal(old["version"], 1);
    const run = readTeamRun(old);
    const meta = old["meta"] as { ending: string; replans: number; scores: number[] };
    assert.equal(meta.ending, "verified");
    assert.deepEqual(run.ending, { reason: "answered", verified: true });
    assert.equal(run.replans, meta.replans);
    assert.deepEqual(run.scores, meta.scores);
    assert.equal(run.meta, undefined);
    assert.equal(run.steps.length, (old["steps"] as unknown[]).length);
  });

  it("tells a failed run, a limit and a run without an answer apart", () => {
    const old = versionOne("team-run");
    const read = (change: object) => readTeamRun({ ...old, meta: undefined, ...change }).ending;
    assert.deepEqual(read({ error: "model down", answer: null }), { reason: "error", detail: "model down" });
    assert.deepEqual(read({ answer: null }), { reason: "no-answer" });
    assert.deepEqual(read({}), { reason: "answered" });
    const atLimit = { meta: { ending: "limit" }, error: "budget" };
    assert.deepEqual(read({ ...atLimit, answer: null }), { reason: "limit", detail: "budget" });
    assert.deepEqual(read(atLimit), { reason: "suggested", detail: "budget" });
  });

  it("reads a trajectory with what stood under meta as fields", () => {
    const old = versionOne("trajectory");
    assert.equal(old["version"], 1);
    const chain = readTrajectory(old);
    const meta = old["meta"] as { topology: string; filledThoughts: number; team: object };
    assert.equal(chain.version, 2);
    assert.equal(chain.distilled?.topology, meta.topology);
    assert.equal(chain.distilled?.filledThoughts, meta.filledThoughts);
    assert.deepEqual(chain.distilled?.team, meta.team);
    assert.equal(chain.meta, undefined);
    assert.equal(trajectoryText(chain.segments), trajectoryText(old["segments"] as Segment[]));
    const compacted = {
      ...old,
      meta: { family: "hop2", compactions: [{ beforeCall: 3, replaced: [{ segment: 4, text: "…" }] }] },
    };
    const read = readTrajectory(compacted);
    assert.equal(read.family, "hop2");
    assert.deepEqual(read.compactions, [{ beforeCall: 3, fromSegment: 5, replaced: [{ segment: 4, text: "…" }] }]);
  });

  it("reads what it has read, and refuses a version it does not know", () => {
    const chain = readTrajectory(versionOne("trajectory"));
    assert.deepEqual(readTrajectory(JSON.parse(JSON.stringify(chain))), chain);
    assert.equal(trajectorySchema.safeParse({ ...chain, version: 3 }).success, false);
    assert.equal(taskSchema.safeParse(null).success, false);
  });
});

describe("contextVersions", () => {
  const segments: Segment[] = ["a", "long", "b", "longer", "c"].map((text, index) => ({
    tag: index % 2 === 0 ? "think" : "observation",
    text,
    by: index % 2 === 0 ? "model" : "tool",
    tokens: [index],
  }));

  it("is one stretch where nothing was shortened", () => {
    assert.deepEqual(contextVersions({ segments }), [{ from: 0, to: 5, segments }]);
  });

  it("shows each stretch what stood in its context when it was written", () => {
    const compactions = [
      { beforeCall: 1, fromSegment: 2, replaced: [{ segment: 1, text: "l", tokens: [11] }] },
      { beforeCall: 2, fromSegment: 4, replaced: [{ segment: 3, text: "lr", tokens: [13] }] },
    ];
    const versions = contextVersions({ segments, compactions });
    assert.deepEqual(
      versions.map(({ from, to, segments: shown }) => [from, to, shown.map(({ text, tokens }) => `${text}${tokens}`)]),
      [
        [0, 2, ["a0", "long1"]],
        [2, 4, ["a0", "l11", "b2", "longer3"]],
        [4, 5, ["a0", "l11", "b2", "lr13", "c4"]],
      ],
    );
  });
});
