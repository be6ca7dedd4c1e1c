import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "./task.ts";
import { taskSchema } from "./task-schema.ts";
import { contextVersions, type Segment } from "./trajectory.ts";
import { trajectorySchema } from "./trajectory-schema.ts";
import { emptyUsage } from "./usage.ts";

describe("records", () => {
  const chain = {
    ...{ version: 1, id: "a", taskId: "t", profile: "web", model: "m", prompt: [], segments: [], answer: null },
    ...{ ending: { reason: "no-answer" }, usage: emptyUsage() },
  };

  it("read what was written, and refuse a version they do not know", () => {
    const read = trajectorySchema.parse(chain);
    assert.deepEqual(trajectorySchema.parse(JSON.parse(JSON.stringify(read))), read);
    assert.equal(trajectorySchema.safeParse({ ...chain, version: 2 }).success, false);
    const task = defineTask({ id: "t", question: "?" });
    assert.deepEqual(taskSchema.parse(JSON.parse(JSON.stringify(task))), task);
    assert.equal(taskSchema.safeParse({ ...task, version: 2 }).success, false);
    assert.equal(taskSchema.safeParse(null).success, false);
  });

  it("keep the user's own notes as they are", () => {
    const meta = { caller: "me", faults: [1], note: { deep: true } };
    assert.deepEqual(trajectorySchema.parse({ ...chain, meta }).meta, meta);
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
