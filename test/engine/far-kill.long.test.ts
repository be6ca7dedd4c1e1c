/**
 * SIGKILL of the client and of the server by turns, at moments that a seed chooses: before a request arrives, while the server
 * has it, after the server has answered and before the client hears it; of models, passes, steps, saves, publications and
 * samples. After each the run is resumed. Nothing acknowledged is lost, nothing trained twice.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { readSafetensors } from "../../src/engines/embedded/files/safetensors.ts";
import type { RolloutLine } from "../../src/train/credit-group.ts";
import { type Rollout, rolloutKey } from "../../src/train/run-rollout.ts";
import { base, close, figures, lora, rl, sft } from "./far-runs.ts";
import { killingProxy, type Moment, places } from "./killing-proxy.ts";

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
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") }, // two dozen processes load the same sources
  });
  children.add(child);
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout! }).on("line", (line) => said.push(line));
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  void ended.then(() => children.delete(child));
  return { child, lines, said, ended };
}

async function startServer(checkpoints: string) {
  const server = start("far-server.ts", checkpoints, "0");
  const origin = await new Promise<string>((resolve, reject) => {
    server.lines.once("line", resolve);
    void server.ended.then(() => reject(new Error("the server ended before it listened")));
  });
  return { ...server, origin };
}

/** So many moments over requests of these kinds, each kind about as often. */
function moments(seed: number, count: number, kinds: readonly string[]): Moment[] {
  const random = seededRandom(seed, "moments");
  const all = Array.from({ length: Math.ceil(count / kinds.length) }, () => random.shuffle([...kinds])).flat();
  return all.slice(0, count).map((kind) => ({ kind, place: random.pick(places), nth: 1 + random.below(2), latest: 5 }));
}

const ofPasses = ["forward_backward", "optim_step", "save_weights"].flatMap((kind) => [kind, `result of ${kind}`]);
const runs = {
  sft: {
    kills: 12,
    kinds: [...ofPasses, "create_model", "load_weights", "result of load_weights"],
    extra: { steps: 24, checkpointEvery: 2 },
    names: ["step", "loss", "heldOutLoss"],
  },
  rl: {
    kills: 4,
    kinds: [
      "save_weights_for_sampler",
      "result of save_weights_for_sampler",
      "asample",
      "result of asample",
      ...ofPasses,
    ],
    extra: { steps: 4, keep: { checkpointEvery: 1 } },
    names: ["step", "loss", "meanReward", "updates", "trainedTokens"],
  },
} as const;

/** The newest checkpoint of a run: how many steps its optimizer has taken, and the weights. */
async function lastState(path: string, serverFolder?: string) {
  const newest = (await readdir(join(path, "checkpoints")))
    .filter((name) => name.startsWith("step-"))
    .sort()
    .at(-1)!;
  const { state } = JSON.parse(await readFile(join(path, "checkpoints", newest, "checkpoint.json"), "utf8"));
  const [, address] = /^tinker:\/\/([^#]+)/.exec(state) ?? [];
  const place = address ? join(serverFolder!, address, "state") : join(path, "checkpoints", newest, state);
  const { steps } = JSON.parse(await readFile(join(place, "state.json"), "utf8")) as { steps: number };
  const { tensors } = await readSafetensors(join(place, "adapter_model.safetensors"));
  return { steps, weights: [...tensors.values()].flatMap(({ data }) => [...data]) };
}

describe("training far away, killed", () => {
  for (const kind of ["sft", "rl"] as const) {
    const { kills, kinds, extra, names } = runs[kind];
    it(`ends where an undisturbed run here ends, whenever client and server were killed (${kind})`, async (test) => {
      const near = join(folder, `${kind}-near`);
      const engine = await openEmbeddedEngine({ ...base, lora });
      try {
        await (kind === "sft" ? sft(engine, near, extra) : rl(engine, near, extra));
      } finally {
        await engine.close();
      }
      const path = join(folder, `${kind}-far`);
      const checkpoints = join(folder, `${kind}-checkpoints`);
      const proxy = await killingProxy();
      test.after(() => proxy.close());
      let server = await startServer(checkpoints);
      const client = () => start("far-client.ts", kind, path, proxy.origin, JSON.stringify(extra));
      proxy.target = server.origin;
      for (const [number, moment] of moments(1, kills, kinds).entries()) {
        const { child, said, ended } = client();
        const victim = number % 2 === 0 ? child : server.child;
        await Promise.race([proxy.arm(moment, () => victim.kill("SIGKILL")), ended]);
        assert.equal(proxy.struck.length, number + 1, `the run ended before kill ${number + 1}: ${said}`);
        if (victim !== child) {
          await server.ended;
          server = await startServer(checkpoints);
          proxy.target = server.origin;
        }
        await ended;
        const how = `after ${proxy.struck.at(-1)}: ${said}`;
        if (victim === child) assert.ok(!said.some((line) => /^f/.test(line)), how);
        else assert.match(said.at(-1) ?? "", /^failed: .*resume/, `it must say what to do ${how}`);
      }
      const { said, ended } = client();
      await ended;
      assert.equal(said.at(-1), "finished");
      console.log(`killed (${kind}): ${proxy.struck.join(", ")}`);

      close(await figures(path, names), await figures(near, names));
      const [there, here] = [await lastState(path, checkpoints), await lastState(near)];
      const updates = await figures(near, ["updates"]);
      const expected = kind === "sft" ? extra.steps : updates.reduce((sum, count) => sum + count, 0);
      assert.deepEqual([there.steps, here.steps], [expected, expected], "optimizer steps");
      close(there.weights, here.weights);
      if (kind === "rl") {
        const lines = await readAllJsonl<RolloutLine>(join(path, "rollout-figures.jsonl"));
        assert.equal(new Set(lines.map(({ rollout }) => rollout)).size, lines.length, "a rollout was trained on twice");
        const keys: string[] = [];
        for (const rollout of await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))) keys.push(rolloutKey(rollout));
        assert.equal(new Set(keys).size, keys.length, "a rollout was sampled twice");
      }
      server.child.kill("SIGKILL");
      await server.ended;
    });
  }
});
