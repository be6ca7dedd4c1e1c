import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readManifest } from "../base/files/manifest.ts";
import { openRunFolder } from "./run-folder.ts";

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
