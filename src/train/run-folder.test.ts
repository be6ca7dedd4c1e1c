import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { tabularEngine } from "../../test/fixtures/conformance/tabular-engine.ts";
import { readManifest } from "../base/files/manifest.ts";
import { fixedExamples } from "./example-source.ts";
import { openRunFolder } from "./run-folder.ts";
import { trainSft } from "./train-sft.ts";

describe("openRunFolder", () => {
  it("says in the manifest how far a run is, and that it has ended", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-run-"));
    try {
      const description = { kind: "rl", config: { steps: 3 }, seed: 1, dataFingerprint: "" } as const;
      const run = await openRunFolder(folder, description);
      await run.log({ step: 1, loss: 0.5, meanReward: Number.NaN, tokens: 7 });
      const { updatedAt: _, ...during } = (await readManifest(folder))!.progress;
      assert.deepEqual(during, { state: "running", done: 1, total: 3, figures: { loss: 0.5 } });
      await run.log({ step: 2, loss: 0.25, meanReward: 1 });
      await run.finish(2);
      await run.close();
      const { updatedAt: __, ...after } = (await readManifest(folder))!.progress;
      assert.deepEqual(after, { state: "done", done: 2, total: 3, figures: { loss: 0.25, meanReward: 1 } });
      // The same run is known again, whatever was reported.
      await (await openRunFolder(folder, description)).close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a damaged checkpoint", () => {
  const example = { input: Int32Array.of(1, 2), targets: Int32Array.of(2, 3), weights: Float32Array.of(1, 1) };
  const train = async (folder: string, stopAt?: number) => {
    const engine = tabularEngine(8);
    const stop = new AbortController();
    const result = await trainSft({
      engine,
      source: fixedExamples([example], 1, 5),
      folder,
      seed: 5,
      steps: 30,
      optimizer: { learningRate: 0.1 },
      checkpointEvery: 10,
      resume: "auto",
      signal: stop.signal,
      onProgress: ({ done }) => (done === stopAt ? stop.abort() : undefined),
    }).catch((error: unknown) => {
      if (stopAt === undefined) throw error;
    });
    return { engine, result };
  };
  /** Every file of a checkpoint, the one with its hashes included. */
  const filesOf = async (folder: string, step: string) =>
    (await readdir(join(folder, "checkpoints", step), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  async function damage(file: string, how: "flip" | "zero"): Promise<void> {
    const bytes = await readFile(file);
    if (how === "zero") bytes.fill(0);
    else bytes[bytes.length >> 1]! ^= 1;
    await writeFile(file, bytes);
  }

  it("is set aside, whichever file and bit it is, and the run ends with the same weights from the one before", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-run-"));
    try {
      const whole = (await train(join(folder, "whole"))).engine.logits;
      await train(join(folder, "probe"), 23);
      const names = (await filesOf(join(folder, "probe"), "step-0000023")).map((file) =>
        file.slice(join(folder, "probe").length),
      );
      assert.ok(names.length >= 3, names.join());
      for (const how of ["flip", "zero"] as const) {
        for (const [at, name] of names.entries()) {
          const run = join(folder, `${how}-${at}`);
          await train(run, 23);
          await damage(join(run, name), how);
          const { engine, result } = await train(run);
          assert.deepEqual(result?.damaged, [join(run, "checkpoints", "damaged-step-0000023")], name);
          assert.deepEqual(engine.logits, whole, `${how} ${name}`);
        }
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("ends the run in our words where no other is left", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-run-"));
    try {
      await train(folder, 23);
      for (const step of ["step-0000020", "step-0000023"])
        await damage((await filesOf(folder, step)).find((file) => file.endsWith("checkpoint.json"))!, "zero");
      const again =
        /no checkpoint of .* is as it was written: .*checkpoint\.json is damaged; .*start the run in a new folder/;
      await assert.rejects(train(folder), again);
      await assert.rejects(train(folder), again, "the folder is not left locked");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
