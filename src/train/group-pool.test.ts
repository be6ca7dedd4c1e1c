/** Training on groups in flight: what is trained on is fresh enough, complete, and never twice; not waiting changes nothing else. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { tabularEngine } from "../../test/fixtures/conformance/tabular-engine.ts";
import { digitEngine, digitGame, digitTrajectory } from "../../test/fixtures/digit-game.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { outcomeReward } from "../graders/reward.ts";
import type { RolloutLine } from "./credit-group.ts";
import type { RlOptions } from "./rl-options.ts";
import type { Metrics } from "./run-folder.ts";
import { type Rollout, rolloutKey } from "./run-rollout.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-pool-"));
after(() => rm(folder, { recursive: true, force: true }));
let runs = 0;
const fresh = () => join(folder, `run-${runs++}`);

/**
 * Waits until the weights have changed so often; gives up where the pool has nothing else to train on. By timers, which a busy machine
 * delays as it delays the writing of files between two changes.
 */
async function outlive(changes: number, { policy, signal }: Parameters<RlOptions["rollout"]>[1]): Promise<void> {
  const begun = policy.version;
  for (let at = 0; at < 500 && policy.version < begun + changes && !signal?.aborted; at++)
    await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A game of two moves, of which the second is the answer. One chain of each group of the last task outlives an update between them. */
const slowRollout: RlOptions["rollout"] = async (task, run) => {
  const { seed, policy } = run;
  const promptTokens = [task.question.charCodeAt(0)];
  await policy.sample({ tokens: promptTokens, maxTokens: 1, seed });
  await outlive(task.id === "3" && run.sample === 0 ? 1 : 0, run);
  run.signal?.throwIfAborted();
  const second = await policy.sample({ tokens: promptTokens, maxTokens: 1, seed: seed + 1 });
  const chain = digitTrajectory(task, promptTokens, String.fromCharCode(...second.tokens), second);
  return { ...chain, segments: [{ ...chain.segments[0]!, policyVersion: second.policyVersion }] };
};

const pooled = (path: string, extra: Partial<RlOptions> = {}) =>
  digitGame(digitEngine(), path, {
    steps: 10,
    rollout: slowRollout,
    ...extra,
    collect: { maxStaleness: 2, ...extra.collect },
    keep: { checkpointEvery: 100 },
  });

async function read(path: string) {
  const figures = await readAllJsonl<RolloutLine>(join(path, "rollout-figures.jsonl"));
  const metrics = await readAllJsonl<Metrics>(join(path, "metrics.jsonl"));
  const rollouts = await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"));
  return { figures, metrics, rollouts, trained: figures.filter(({ kept }) => kept) };
}

function assertTrainedOnce(trained: readonly RolloutLine[], samples: number) {
  const keys = trained.map(({ rollout }) => rollout);
  assert.equal(new Set(keys).size, keys.length, "a rollout was trained on twice");
  const groups = Map.groupBy(trained, ({ rollout }) => rollout.split("/")[2]);
  for (const [group, lines] of groups) assert.equal(lines.length, samples, `group ${group} is not complete`);
}

describe("training that waits for its own rollouts", () => {
  it("gives the numbers that it gave before groups could be in flight", async () => {
    const engine = digitEngine();
    const path = fresh();
    await digitGame(engine, path, { steps: 4 });
    const metrics = await readAllJsonl<Metrics>(join(path, "metrics.jsonl"));
    assert.deepEqual(
      metrics.map(({ meanReward }) => meanReward),
      [0.21875, 0.59375, 0.75, 0.78125],
    );
    const losses = [-0.058244007605672124, -0.07950880927466827, -0.06207516513393688, -0.050077276374177235];
    for (const [at, { loss }] of metrics.entries()) assert.ok(Math.abs(loss! - losses[at]!) < 1e-12);
    const sum = engine.logits.reduce((total, value, at) => total + value * Math.sin(at), 0);
    assert.ok(Math.abs(sum - 5.474899833674829) < 1e-9);
  });
});

describe("training on groups in flight", () => {
  it("learns, within the staleness allowed, and journals every rollout", async () => {
    const path = fresh();
    const result = await pooled(path);
    assert.ok(result.lastReward > result.firstReward + 0.3, `${result.firstReward} -> ${result.lastReward}`);
    const { metrics, rollouts, trained } = await read(path);
    assertTrainedOnce(trained, 8);
    const staleness = metrics.map((line) => line["staleness"] ?? 0);
    assert.ok(Math.max(...staleness) <= 2 * 2, "two steps of two updates");
    assert.ok(Math.max(...staleness) > 0, "nothing was in flight over a change of weights");
    const keys = rollouts.map(rolloutKey);
    assert.equal(new Set(keys).size, keys.length);
    assert.ok(keys.length >= trained.length);
    // Chains live over a change of weights, each segment with the version that wrote it and its own probabilities.
    const over = rollouts.filter(
      ({ trajectory: { segments, policyVersion } }) => segments[0]!.policyVersion! > policyVersion!,
    );
    assert.ok(over.length > 0, "no chain lived over a change");
    for (const { trajectory } of rollouts) assert.equal(trajectory.segments[0]!.logprobs!.length, 1);
  });

  it("begins groups again that have become too old", async () => {
    const path = fresh();
    const rollout: RlOptions["rollout"] = async (task, run) => {
      const chain = await slowRollout(task, run);
      await outlive(task.id === "3" ? 4 : 0, run);
      return chain;
    };
    await pooled(path, { collect: { maxStaleness: 1, maxRounds: 2 }, steps: 5, rollout });
    const { metrics, trained, figures } = await read(path);
    assertTrainedOnce(trained, 8);
    assert.ok(metrics.some((line) => (line["requeued"] ?? 0) > 0));
    assert.ok(trained.every(({ staleness }) => staleness <= 2));
    assert.ok(figures.every(({ kept, dropped }) => kept || dropped !== undefined));
    assert.equal(metrics.length, 5);
  });

  it("loses no finished rollout and trains on none twice when it is stopped and resumed", async () => {
    const path = fresh();
    const stop = new AbortController();
    let left = Number.POSITIVE_INFINITY;
    const onProgress = ({ done }: { done: number }) => {
      if (done === 2) left = 10;
    };
    const reward = outcomeReward((task, answer) => {
      if (--left === 0) stop.abort();
      return { correct: task.answers[0] === answer, score: 0, reason: "" };
    });
    await assert.rejects(pooled(path, { steps: 6, signal: stop.signal, reward, onProgress }));
    const before = await read(path);
    assert.ok(before.metrics.length > 1);
    await pooled(path, { steps: 6, resume: "auto" });
    const { metrics, rollouts, trained } = await read(path);
    assert.deepEqual(
      metrics.map(({ step }) => step),
      Array.from({ length: 6 }, (_, at) => at + 1),
    );
    assertTrainedOnce(trained, 8);
    const keys = rollouts.map(rolloutKey);
    assert.equal(new Set(keys).size, keys.length, "a rollout was sampled twice");
    assert.deepEqual(keys.slice(0, before.rollouts.length), before.rollouts.map(rolloutKey));
  });

  it("stops at a failure, with the failure's own words", async () => {
    let calls = 0;
    const rollout: RlOptions["rollout"] = (task, run) =>
      ++calls === 40 ? Promise.reject(new Error("the tool has left")) : slowRollout(task, run);
    await assert.rejects(pooled(fresh(), { rollout }), /the tool has left/);
  });

  it("ends when there are no more tasks, with what it has", async () => {
    const tasks: RlOptions["tasks"] = () => [];
    const result = await pooled(fresh(), { tasks, steps: 2 });
    assert.deepEqual([result.rollouts, result.updates], [0, 0]);
  });

  it("refuses settings that can't work", async () => {
    await assert.rejects(pooled(fresh(), { collect: { inFlight: 3 } }), /a step trains on 4 groups/);
    await assert.rejects(pooled(fresh(), { collect: { maxStaleness: 0, inFlight: 8 } }), /1 or more/);
    const engine = tabularEngine(8);
    const waiting = { ...engine, capabilities: { ...engine.capabilities, overlap: false } };
    await assert.rejects(digitGame(waiting, fresh(), { collect: { maxStaleness: 1 } }), /can't sample while it trains/);
  });
});
