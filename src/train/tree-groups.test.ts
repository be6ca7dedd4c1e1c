import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { observed, written } from "../../test/fixtures/segments.ts";
import { defineTask } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { sharedPrefix } from "./credit.ts";
import { creditGroup } from "./credit-group.ts";
import { type Rollout, type RolloutRun, rolloutKey } from "./run-rollout.ts";
import { branchedFrom, collectGroups } from "./sort-groups.ts";

/** A chain whose first search fails, in tasks that say so; the end of each is its own. */
function chain(id: string, faulty: boolean, sample: number, from?: Trajectory): Trajectory {
  const segments = [
    ...(from?.segments ?? [written("ab"), observed("search", faulty ? "empty" : undefined)]),
    written(`e${sample}`),
  ];
  return {
    id,
    prompt: [],
    promptTokens: [1],
    segments,
    answer: String(sample % 2),
    ending: { reason: "answered" },
  } as unknown as Trajectory;
}

const tasks = ["faulty", "plain"].map((id) => defineTask({ id, question: "?", answers: ["1"] }));

async function collect(finished: ReadonlyMap<string, Rollout> = new Map()) {
  const asked: { id: string; run: RolloutRun }[] = [];
  const collected = await collectGroups({
    ...{ step: 0, seed: 1, groups: 2, samples: 4, maxRounds: 1, maxContext: 1000, concurrency: 8, finished },
    tasks: () => tasks,
    credit: sharedPrefix(),
    rollout: async ({ id }, run) => {
      asked.push({ id, run });
      return chain(`${id}-${run.sample}`, id === "faulty", run.sample, run.from);
    },
    reward: async ({ answer }) => ({ reward: Number(answer), correct: answer === "1", score: 0, reason: "" }),
    journal: memoryJournal(),
  });
  return { asked, groups: collected.groups };
}

describe("groups as trees", () => {
  it("continues the first rollout from its fault, and runs groups without one whole", async () => {
    const { asked, groups } = await collect();
    assert.equal(asked.length, 8);
    for (const { id, run } of asked) {
      const texts = run.from?.segments.map(({ text }) => text);
      assert.deepEqual(texts, id === "faulty" && run.sample > 0 ? ["ab", "o"] : undefined);
    }
    assert.equal(new Set(asked.map(({ run }) => run.seed)).size, 8);
    const branches = groups.map(({ rollouts }) => rollouts.map(({ trajectory }) => trajectory.branch));
    assert.deepEqual(branches, [[2, 2, 2, 2], Array(4).fill(undefined)]);
  });

  it("credits what follows the branch alone", async () => {
    const { groups } = await collect();
    const signs = groups.map((group) =>
      creditGroup(group, 0, { tokenizer: byteTokenizer() }).map(({ example }) =>
        [...example.advantages!].map((value) => Math.sign(value) || 0),
      ),
    );
    assert.deepEqual(
      signs[0],
      [-1, 1, -1, 1].map((sign) => [0, 0, 0, sign, sign]),
    );
    assert.deepEqual(
      signs[1],
      [-1, 1, -1, 1].map((sign) => [sign, sign, 0, sign, sign]),
    );
  });

  it("refuses a rollout that begins another chain instead of continuing", () => {
    const [trunk, other] = ["ab", "cd"].map(
      (text) => ({ id: text, segments: [written(text), written("e")], branch: 1 }) as unknown as Trajectory,
    );
    assert.throws(() => branchedFrom(trunk!, other!), /must pass its `from` on/);
    assert.equal(branchedFrom(trunk!, trunk!).branch, 1);
  });

  it("takes what an earlier process finished, and continues the same first rollout", async () => {
    const { groups } = await collect();
    const done = groups.flatMap(({ rollouts }) => rollouts.filter(({ sample }) => sample < 2));
    const resumed = await collect(new Map(done.map((rollout) => [rolloutKey(rollout), rollout])));
    assert.deepEqual(
      resumed.asked.map(({ id, run }) => `${id} ${run.sample} ${run.from?.segments.length ?? "whole"}`),
      ["faulty 2 2", "faulty 3 2", "plain 2 whole", "plain 3 whole"],
    );
    assert.deepEqual(resumed.groups, groups);
  });
});
