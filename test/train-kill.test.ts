/** SIGKILL at random moments, then resume: the final weights are those of a run that nobody disturbed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { workState } from "../src/base/files/claim-folder.ts";
import { readManifest } from "../src/base/files/manifest.ts";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { seededRandom } from "../src/base/work/random.ts";
import type { RolloutLine } from "../src/train/credit-group.ts";
import { fixedExamples } from "../src/train/example-source.ts";
import { type Rollout, rolloutKey } from "../src/train/run-rollout.ts";
import { trainSft } from "../src/train/train-sft.ts";
import { tabularEngine } from "./fixtures/conformance/tabular-engine.ts";
import { testSize, whole } from "./fixtures/test-size.ts";

const root = mkdtempSync(join(tmpdir(), "coa-kill-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Runs the target until it ends or has reported `killAfter` steps, then kills it without a warning. */
function run(kind: string, folder: string, killAfter = Number.POSITIVE_INFINITY): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = join(import.meta.dirname, "fixtures", "train-target.ts");
    const child = spawn(process.execPath, [script, kind, folder], { stdio: ["ignore", "pipe", "inherit"] });
    let lines = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      lines += chunk.toString().split("\n").length - 1;
      if (lines >= killAfter) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("close", () => resolve());
  });
}

async function disturbed(kind: string, seed: number, most = testSize(2, 12)): Promise<string> {
  const folder = join(root, `${kind}-${seed}`);
  const random = seededRandom(seed, "kills").next;
  for (let kills = 0; !existsSync(join(folder, "final.json")); kills++) {
    assert.ok(kills < most + 2, "a run that nobody killed did not end");
    await run(kind, folder, kills < most ? 1 + Math.floor(random() * (kind === "sft" ? 25 : 5)) : undefined);
    const { progress } = (await readManifest(folder))!;
    if (progress.state === "running") assert.equal(await workState(folder, progress), "stopped");
  }
  return folder;
}

describe("training that is killed and resumed", () => {
  for (const kind of whole ? ["sft", "rl"] : ["sft"]) {
    it(`ends with the weights of an undisturbed run (${kind})`, async () => {
      const calm = join(root, `${kind}-calm`);
      await run(kind, calm);
      const expected = readFileSync(join(calm, "final.json"), "utf8");
      for (const seed of whole ? [1, 2, 3] : [1]) {
        const folder = await disturbed(kind, seed);
        assert.equal(readFileSync(join(folder, "final.json"), "utf8"), expected);
        if (kind === "rl") {
          const keys = (await readAllJsonl<Rollout>(join(folder, "rollouts.jsonl"))).map(rolloutKey);
          assert.equal(new Set(keys).size, keys.length, "a rollout was sampled twice");
        }
      }
    });
  }

  if (whole)
    it("trains on whole groups, and on none twice, with groups in flight", async () => {
      const folder = await disturbed("pool", 3, testSize(1, 8));
      const trained = (await readAllJsonl<RolloutLine>(join(folder, "rollout-figures.jsonl"))).filter(
        ({ kept }) => kept,
      );
      assert.equal(
        new Set(trained.map(({ rollout }) => rollout)).size,
        trained.length,
        "a rollout was trained on twice",
      );
      const groups = Map.groupBy(trained, ({ rollout }) => rollout.split("/")[2]);
      for (const lines of groups.values()) assert.equal(lines.length, 6);
      const keys: string[] = [];
      for (const rollout of await readAllJsonl<Rollout>(join(folder, "rollouts.jsonl"))) keys.push(rolloutKey(rollout));
      assert.equal(new Set(keys).size, keys.length, "a rollout was sampled twice");
      const metrics = await readAllJsonl<{ step: number; staleness?: number }>(join(folder, "metrics.jsonl"));
      assert.equal(metrics.length, 12);
      assert.ok(metrics.every(({ staleness = 0 }) => staleness <= 4));
    });

  it("keeps the last good checkpoint when the disk is full", async () => {
    const folder = join(root, "full-disk");
    const engine = tabularEngine(8);
    let saves = 0;
    const full = {
      ...engine,
      saveState: (path: string) =>
        ++saves < 3 ? engine.saveState(path) : Promise.reject(new Error("ENOSPC: no space left on device")),
    };
    const examples = [{ input: Int32Array.of(1, 2, 3), targets: Int32Array.of(2, 3, 4) }];
    const options = {
      source: fixedExamples(examples, 64, 1),
      folder,
      seed: 1,
      steps: 20,
      optimizer: { learningRate: 0.1 },
      checkpointEvery: 5,
    };
    await assert.rejects(trainSft({ ...options, engine: full }), /no space left/);
    assert.deepEqual(readdirSync(join(folder, "checkpoints")), ["step-0000005", "step-0000010"]);
    const result = await trainSft({ ...options, engine: tabularEngine(8), resume: "auto" as const });
    assert.equal(result.steps, 20);
  });
});
