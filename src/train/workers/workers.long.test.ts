/** Four workers in processes of their own, killed without a warning at random moments and replaced. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { digitEngine, digitGame } from "../../../test/fixtures/digit-game.ts";
import { digitRun } from "../../../test/fixtures/digit-run.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { listen } from "../../base/http/listen.ts";
import { seededRandom } from "../../base/work/random.ts";
import type { RolloutLine } from "../credit-group.ts";
import { type Rollout, rolloutKey } from "../run-rollout.ts";
import { coordinatorHandler } from "./coordinator-handler.ts";
import { leaseBoard } from "./lease-board.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-worker-kills-"));
const living = new Set<ChildProcess>();
after(async () => {
  for (const child of living) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Four workers, each killed after some results and replaced, until `kills` are used up. */
function workforce(coordinator: string, kills: number) {
  const script = join(import.meta.dirname, "..", "..", "..", "test", "fixtures", "worker-target.ts");
  const random = seededRandom(5, "kills").next;
  const state = { killed: 0, ended: false };
  const hire = (name: string): void => {
    const child = spawn(process.execPath, [script, coordinator, name], { stdio: ["ignore", "pipe", "inherit"] });
    living.add(child);
    let left = 3 + Math.floor(random() * 20);
    child.stdout.on("data", (results: Buffer) => {
      left -= results.length;
      if (left > 0 || state.killed >= kills || child.killed) return;
      state.killed++;
      child.kill("SIGKILL");
    });
    child.on("close", (_, signal) => {
      living.delete(child);
      if (signal && !state.ended) hire(name);
    });
  };
  for (let at = 0; at < 4; at++) hire(`worker-${at}`);
  return state;
}

async function disturbed(path: string, kills: number, extra: Parameters<typeof digitGame>[2]) {
  const engine = digitEngine();
  const silenceMs = 1500;
  const board = leaseBoard({ deadlineMs: 60_000, silenceMs });
  const server = await listen(coordinatorHandler({ board, run: digitRun(engine, silenceMs) }));
  const workers = workforce(server.origin, kills);
  try {
    await digitGame(engine, path, { ...extra, rollout: board.play, keep: { checkpointEvery: 100 } });
  } finally {
    workers.ended = true;
    board.close();
    await Promise.all([...living].map((child) => once(child, "close")));
    await server.close();
  }
  return { engine, killed: workers.killed, offeredAgain: board.offeredAgain };
}

describe("workers that are killed", () => {
  it("leave every group complete and count nothing twice: the weights are those of a calm run", async (context) => {
    const calm = digitEngine();
    await digitGame(calm, join(folder, "calm"), { steps: 6, keep: { checkpointEvery: 100 } });
    const path = join(folder, "killed");
    const { engine, killed, offeredAgain } = await disturbed(path, 5, { steps: 6 });
    context.diagnostic(`${killed} workers killed, ${offeredAgain} rollouts offered again`);
    assert.ok(killed >= 3 && offeredAgain > 0);
    assert.deepEqual(engine.logits, calm.logits);
    const keys = (await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))).map(rolloutKey);
    assert.equal(new Set(keys).size, keys.length);
    const expected = (await readAllJsonl<Rollout>(join(folder, "calm", "rollouts.jsonl"))).length;
    assert.equal(keys.length, expected);
  });

  it("do the same with groups in flight", async (context) => {
    const path = join(folder, "in-flight");
    const { killed, offeredAgain } = await disturbed(path, 3, { steps: 5, collect: { maxStaleness: 3 } });
    context.diagnostic(`${killed} workers killed, ${offeredAgain} rollouts offered again`);
    const figures = await readAllJsonl<RolloutLine>(join(path, "rollout-figures.jsonl"));
    const trained = figures.filter(({ kept }) => kept);
    assert.equal(new Set(trained.map(({ rollout }) => rollout)).size, trained.length);
    for (const lines of Map.groupBy(trained, ({ rollout }) => rollout.split("/")[2]).values())
      assert.equal(lines.length, 8);
    const keys: string[] = [];
    for (const rollout of await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))) keys.push(rolloutKey(rollout));
    assert.equal(new Set(keys).size, keys.length);
  });
});
