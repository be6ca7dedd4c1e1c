/** A training in the studio: curves that grow with the file, one cursor, and the rollouts of a step. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labRuns } from "../../src/lab/lab-runs.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, visit, type WatchedPage } from "./studio-browser.ts";

describe("training in the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;
  let addStep: (step: number) => Promise<void>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-training-"));
    await mkdir(join(folder, "rl"));
    const metrics = await openJsonl(join(folder, "rl", "metrics.jsonl"), { lock: false });
    addStep = (step) => metrics.append({ step, meanReward: step / 10, loss: 1 / step, note: "text is not drawn" });
    const rollouts = await openJsonl(join(folder, "rl", "rollouts.jsonl"), { lock: false });
    for await (const { task, run } of labRuns({ seed: 3, tasksPerWorld: 3, pages: 200, imperfect: 0 }, 0)) {
      const { trajectory } = distillRun(run, { profile: labProfile, systemPrompt: false });
      for (const sample of [0, 1]) {
        const chain = { ...trajectory!, id: `${trajectory!.id}-${sample}` };
        await rollouts.append({ step: 1, round: 0, slot: 0, sample, task, trajectory: chain, reward: sample });
      }
    }
    await rollouts.close();
    await addStep(1);
    await addStep(2);
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.index.ready();
    browser = await launchBrowser();
    watched = await openPage(browser, studio);
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  it("draws every number, moves one cursor through all curves, and shows the step's groups", async () => {
    const { page } = watched;
    await visit(watched, "/training", ".curve");
    assert.deepEqual(await page.locator(".curve b").allInnerTexts(), ["meanReward", "loss"]);
    await page.waitForSelector(".rollout-groups li");
    assert.equal(await page.locator(".rollout-groups li").count(), 3);
    assert.deepEqual(await page.locator(".rollout-groups li").first().locator(".rollout").allInnerTexts(), ["0", "1"]);
    await page.keyboard.press("h");
    await page.locator(".curve .cursor").nth(1).waitFor({ state: "attached" });
    assert.match(page.url(), /step=1$/);
    await assertAccessible(watched, "training");
  });

  it("grows while the training runs", async () => {
    const { page } = watched;
    await visit(watched, "/training", ".curve");
    await addStep(3);
    await page.locator(".curve", { hasText: "at step 3" }).first().waitFor();
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });
});
