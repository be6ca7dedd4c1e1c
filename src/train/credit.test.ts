import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { observed, written } from "../../test/fixtures/segments.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { creditStart, fromFirstFault } from "./credit.ts";
import { creditGroup } from "./credit-group.ts";
import { groupSorter } from "./sort-groups.ts";

/** A chain of six segments, with faults at the indexes of struck observations. */
const chain = (id: string, faults: readonly number[]) => {
  const strike = (at: number, tool: string) => observed(tool, faults.includes(at) ? "empty" : undefined);
  const segments = [written("ab"), strike(1, "search"), written("cd"), strike(3, "crawl"), strike(4, "search")];
  return {
    id,
    prompt: [],
    promptTokens: [1],
    segments: [...segments, written("ef")],
    answer: "x",
  } as unknown as Trajectory;
};

const rollout = (sample: number, reward: number, faults: readonly number[]) => ({
  step: 0,
  round: 0,
  slot: 0,
  sample,
  task: { id: "t" } as never,
  trajectory: chain(String(sample), faults),
  reward,
  correct: reward === 1,
  reason: "",
});
const fault = [4];

describe("credit after the first fault", () => {
  it("begins at the observation of the struck call, and nowhere without a fault", () => {
    assert.equal(creditStart(chain("a", [3, 4]), fromFirstFault()), 3);
    assert.equal(creditStart(chain("b", [1]), fromFirstFault()), 1);
    assert.equal(creditStart(chain("c", []), fromFirstFault()), 6);
  });

  it("gives advantages to what follows alone, and compares only chains that met a fault", () => {
    const group = {
      task: { id: "t" } as never,
      rollouts: [rollout(0, 1, fault), rollout(1, 0, fault), rollout(2, 1, [])],
    };
    const credited = creditGroup(group, 0, { tokenizer: byteTokenizer(), credit: fromFirstFault() });
    assert.equal(credited.length, 2);
    assert.equal(credited[0]!.line.baseline, 0.5);
    const [first, second] = credited.map(({ example }) => [...example.advantages!]);
    assert.deepEqual(
      first!.map((value) => Math.sign(value) || 0),
      [0, 0, 0, 0, 0, 0, 0, 1, 1],
    );
    assert.deepEqual(
      second!.map((value) => Math.sign(value) || 0),
      [0, 0, 0, 0, 0, 0, 0, -1, -1],
    );
  });

  it("keeps no group whose rewards differ by chance of the faults alone: nothing would be trained on", () => {
    const sorter = groupSorter({ samples: 3, credit: fromFirstFault() });
    const task = { id: "t" } as never;
    const byChance = [rollout(0, 0, fault), rollout(1, 0, fault), rollout(2, 1, [])];
    assert.equal(sorter.add(task, byChance), undefined);
    assert.deepEqual(
      creditGroup({ task, rollouts: byChance }, 0, { tokenizer: byteTokenizer(), credit: fromFirstFault() }).map(
        ({ line }) => line.advantage,
      ),
      [0, 0],
    );
    const byChoice = sorter.add(task, [rollout(0, 1, fault), rollout(1, 0, fault), rollout(2, 1, [])]);
    assert.equal(byChoice?.rollouts.length, 3);
    const { dropped, droppedUncredited, droppedAllWrong, rollouts } = sorter.take([byChoice!]);
    assert.deepEqual([droppedUncredited, droppedAllWrong, rollouts], [1, 0, 6]);
    assert.deepEqual(new Set(dropped.map(({ reason }) => reason)), new Set(["uncredited"]));
    assert.equal(groupSorter({ samples: 3 }).add(task, byChance)?.rollouts.length, 3, "all tokens are credited");
  });
});
