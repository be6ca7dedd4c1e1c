/** SIGKILL of the client, then of the server, in the middle of training far away: nothing acknowledged is lost, nothing trained twice. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import type { RolloutLine } from "../../src/train/credit-group.ts";
import { readRollouts } from "../../src/train/rollout-journal.ts";
import { type Rollout, rolloutKey } from "../../src/train/run-rollout.ts";
import { base, close, figures, lora, rl, sft } from "./far-runs.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-far-kill-"));
const children = new Set<ChildProcess>();
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** A child, its lines as they come, and its end. */
function start(script: string, ...args: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(child);
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  void ended.then(() => children.delete(child));
  return { child, lines: createInterface({ input: child.stdout! }), ended };
}

async function startServer(checkpoints: string, port = "0") {
  const server = start("far-server.ts", checkpoints, port);
  const origin = await new Promise<string>((resolve, reject) => {
    server.lines.once("line", resolve);
    void server.ended.then(() => reject(new Error("the server ended before it listened")));
  });
  return { ...server, origin };
}

/** Runs the client to its end and gives what it printed; `atStep` is called once, when it reports that step or a later one. */
async function client(
  kind: string,
  path: string,
  origin: string,
  stop?: { step: number; kill(own: ChildProcess): void },
) {
  const { child, lines, ended } = start("far-client.ts", kind, path, origin);
  const said: string[] = [];
  let stopped = false;
  lines.on("line", (line) => {
    said.push(line);
    if (!stop || stopped || Number(/^step (\d+)/.exec(line)?.[1] ?? 0) < stop.step) return;
    stopped = true;
    stop.kill(child);
  });
  await ended;
  return said;
}

describe("training far away, killed", () => {
  for (const [kind, clientStep, serverStep] of [
    ["sft", 4, 7],
    ["rl", 1, 3],
  ] as const) {
    it(`ends where an undisturbed run here ends (${kind})`, async () => {
      const near = join(folder, `${kind}-near`);
      const engine = await openEmbeddedEngine({ ...base, lora });
      try {
        await (kind === "sft" ? sft(engine, near) : rl(engine, near));
      } finally {
        await engine.close();
      }
      const path = join(folder, `${kind}-far`);
      const checkpoints = join(folder, `${kind}-checkpoints`);
      let server = await startServer(checkpoints);
      const { origin } = server;
      const kill = (child: ChildProcess) => child.kill("SIGKILL");
      assert.ok(!(await client(kind, path, origin, { step: clientStep, kill })).includes("finished"));

      const said = await client(kind, path, origin, {
        step: serverStep,
        kill() {
          const { child, ended } = server;
          child.kill("SIGKILL");
          void ended.then(async () => {
            server = await startServer(checkpoints, new URL(origin).port);
          });
        },
      });
      assert.match(
        said.at(-1)!,
        /^failed: .*resume/,
        "a server that forgot the model must end the run, and say what to do",
      );

      assert.equal((await client(kind, path, origin)).at(-1), "finished");
      const names =
        kind === "sft" ? ["step", "loss", "heldOutLoss"] : ["step", "loss", "meanReward", "updates", "trainedTokens"];
      close(await figures(path, names), await figures(near, names));
      if (kind === "rl") {
        const lines = await readAllJsonl<RolloutLine>(join(path, "rollout-figures.jsonl"));
        assert.equal(new Set(lines.map(({ rollout }) => rollout)).size, lines.length, "a rollout was trained on twice");
        const keys: string[] = [];
        for await (const rollout of readRollouts(path) as AsyncIterable<Rollout>) keys.push(rolloutKey(rollout));
        assert.equal(new Set(keys).size, keys.length, "a rollout was sampled twice");
      }
      server.child.kill("SIGKILL");
      await server.ended;
    });
  }
});
