import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../../core/task.ts";
import { leaseBoard } from "./lease-board.ts";

describe("leaseBoard", () => {
  it("gives the rollouts of each owner in turn, whatever the order in which they filled the board", async () => {
    const board = leaseBoard({ deadlineMs: 1e9, silenceMs: 1e9 });
    const stop = new AbortController();
    const played = ["a", "a", "a", "a", "b", "b", "c"].map(
      (owner, seed) =>
      board.play(defineTask({ id: `${owner}${seed}`, question: "?" }), { seed, step: 0, sample: 0, owner, signal: stop.signal }), // biome-ignore format: one rollout
    );
    const given = async (count: number) => (await board.lease("w", count, 0))!.map(({ task }) => task.id);
    assert.deepEqual(await given(3), ["a0", "b4", "c6"]);
    assert.deepEqual(await given(9), ["a1", "b5", "a2", "a3"]);
    stop.abort();
    await Promise.allSettled(played);
    assert.equal(board.running + board.waiting, 0);
  });
});
