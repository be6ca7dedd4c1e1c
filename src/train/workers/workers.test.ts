/** Workers over real HTTP: who does not fit is refused by name, what a dead worker held is played by another, and nothing counts twice. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { digitEngine, digitGame, playDigit } from "../../../test/fixtures/digit-game.ts";
import { digitIdentity, digitRun } from "../../../test/fixtures/digit-run.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { type Listening, listen } from "../../base/http/listen.ts";
import { defineTask } from "../../core/task.ts";
import { type Rollout, rolloutKey } from "../run-rollout.ts";
import { coordinatorHandler } from "./coordinator-handler.ts";
import { leaseBoard } from "./lease-board.ts";
import { runWorker, type WorkerOptions } from "./run-worker.ts";
import { differences } from "./worker-protocol.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-workers-"));
const servers: Listening[] = [];
after(async () => {
  for (const server of servers) await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function open({ silenceMs = 400, keys }: { silenceMs?: number; keys?: string[] } = {}) {
  const engine = digitEngine();
  const board = leaseBoard({ deadlineMs: 60_000, silenceMs });
  const handler = coordinatorHandler({ board, run: digitRun(engine, silenceMs), keys });
  const server = await listen(handler);
  servers.push(server);
  const work = (extra: Partial<WorkerOptions> = {}) =>
    runWorker({
      coordinator: server.origin,
      identity: () => digitIdentity,
      play: ({ task, seed }, { policy }) => playDigit(task, seed, policy),
      ...extra,
    });
  return { engine, board, work, origin: server.origin };
}

const task = defineTask({ id: "2", question: "2", answers: ["2"] });

describe("workers", () => {
  it("play a run's rollouts: same samples, same numbers, same weights as without them", async () => {
    const alone = digitEngine();
    await digitGame(alone, join(folder, "alone"), { steps: 4 });
    const { engine, board, work } = await open();
    const working = [work({ concurrency: 5 }), work({ concurrency: 5 })];
    const path = join(folder, "together");
    await digitGame(engine, path, { steps: 4, rollout: board.play });
    board.close();
    const results = await Promise.all(working);
    assert.deepEqual(engine.logits, alone.logits);
    const keys = (await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))).map(rolloutKey);
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(
      results.reduce((sum, { counted }) => sum + counted, 0),
      keys.length,
    );
  });

  it("are refused by name where package, profile, tools or tokenizer differ", async () => {
    const { work } = await open();
    const other = {
      version: "0.9.0",
      profile: { name: "code", fingerprint: "p" },
      tools: { crawl_page: "c", web_search: "x" },
      tokenizer: { size: 300, fingerprint: "t" },
    };
    const refused = work({ name: "w-1", identity: () => other });
    await assert.rejects(
      refused,
      /worker w-1 is refused: its package is version 0\.9\.0, the run has 1\.0\.0; its profile is code, the run has none; its tool web_search has another description .*; it has the tool crawl_page, which the run has not; its tokenizer has 300 ids, the run's has 256/,
    );
    assert.deepEqual(differences(digitIdentity, digitIdentity), []);
    assert.match(differences({ ...digitIdentity, tools: {} }, digitIdentity)[0]!, /it lacks the tool web_search/);
  });

  it("that die or hang lose their rollouts to others, and the first result counts", async () => {
    const { board, work } = await open();
    const policy = { version: 3 } as never;
    const run = { seed: 7, sample: 0, step: 0, maxContext: 16, policy };
    const played = board.play(task, run);
    const [lease] = (await board.lease("dead", 1, 0))!;
    const taken: string[] = [];
    const stop = new AbortController();
    const working = work({
      signal: stop.signal,
      play: async ({ id, task: asked }) => {
        taken.push(id);
        return playDigit(asked, 1, { sample: async () => ({ tokens: [50], logprobs: [-1] }) } as never);
      },
    });
    const trajectory = await played; // the silent worker's lease was taken back
    assert.equal(trajectory.answer, "2");
    assert.equal(trajectory.policyVersion, 3, "the weights of the first lease");
    assert.equal(board.offeredAgain, 1);
    assert.equal(board.complete(lease!.id, trajectory), false, "a late result does not count");
    assert.equal(board.complete(taken[0]!, trajectory), false);
    stop.abort();
    await working;
  });

  it("stop when no rollout is awaited any more, and take no result of an earlier process", async () => {
    const { board, engine, work } = await open();
    const cancel = new AbortController();
    const policy = await engine.publish();
    const played = board.play(task, { seed: 1, sample: 0, step: 0, maxContext: 16, policy, signal: cancel.signal });
    const begun = Promise.withResolvers<void>();
    const results: boolean[] = [];
    const working = work({
      play: async (lease, how) => {
        begun.resolve();
        await played.catch(() => {});
        return playDigit(lease.task, lease.seed, how.policy); // 410: the rollout is not awaited any more
      },
      onResult: ({ counted }) => results.push(counted),
    });
    await begun.promise;
    cancel.abort();
    await assert.rejects(played);
    const again = board.play(task, { seed: 1, sample: 0, step: 0, maxContext: 16, policy });
    await again;
    const earlier = leaseBoard({ deadlineMs: 1000, silenceMs: 1000 });
    void earlier.play(task, { seed: 1, sample: 0, step: 0, maxContext: 16, policy });
    const [old] = (await earlier.lease("w", 1, 0))!;
    const waiting = board.play(task, { seed: 2, sample: 0, step: 0, maxContext: 16, policy });
    assert.equal(board.complete(old!.id, await again), false);
    await waiting;
    board.close();
    assert.deepEqual(await working, { counted: 2, late: 0 });
    assert.deepEqual(results, [true, true]);
  });

  it("stop the run when only its user can help, and need the key", async () => {
    const { board, work } = await open({ keys: ["secret"] });
    await assert.rejects(work(), /HTTP 401: send a key/);
    const played = board.play(task, { seed: 1, sample: 0, step: 0, maxContext: 16, policy: {} as never });
    const working = work({ apiKey: "secret", name: "w-2", play: () => Promise.reject(new Error("no such index")) });
    await assert.rejects(played, /worker w-2 failed: no such index/);
    board.close();
    await working;
    await assert.rejects(
      runWorker({
        coordinator: "http://127.0.0.1:9",
        identity: () => digitIdentity,
        play: () => assert.fail(),
        patienceMs: 0,
      }),
      /is the server running/,
    );
  });
});
