/** A training in the studio: curves that grow with the file, one cursor, and the rollouts of a step. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { claimFolder } from "../../src/base/files/claim-folder.ts";
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
    const figures = await openJsonl(join(folder, "rl", "rollout-figures.jsonl"), { lock: false });
    let slot = -1;
    for await (const { task, run } of labRuns({ seed: 3, tasksPerWorld: 3, pages: 200, imperfect: 0 }, 0)) {
      slot++;
      const { trajectory } = distillRun(run, { profile: labProfile, systemPrompt: false });
      for (const sample of [0, 1]) {
        const chain = { ...trajectory!, id: `${trajectory!.id}-${sample}` };
        await rollouts.append({ step: 1, round: 0, slot, sample, task, trajectory: chain, reward: sample });
        // Of the last task nothing is known yet.
        if (slot === 2) continue;
        const [group, rollout, kept] = [`1/0/${slot}`, `1/0/${slot}/${sample}`, slot === 0];
        const weighed = kept ? { baseline: 0.5, advantage: sample - 0.5, clippedTokens: 3 } : { dropped: "all-right" };
        await figures.append({ step: 2, group, rollout, taskId: task.id, reward: sample, kept, ...weighed });
      }
      if (slot === 0) {
        const chain = { ...trajectory!, id: `${trajectory!.id}-before` };
        await rollouts.append({ step: 0, round: 0, slot, sample: 0, task, trajectory: chain, reward: 0 });
      }
    }
    await rollouts.close();
    await figures.close();
    await addStep(1);
    await addStep(2);
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.catalog.ready();
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
    const shown = (place: number) => page.locator(".rollout-groups li").nth(place);
    assert.deepEqual(await shown(0).locator(".rollout b").allInnerTexts(), ["0", "1"]);
    assert.deepEqual(await shown(0).locator(".rollout small").allInnerTexts(), ["−0.50", "+0.50"]);
    assert.match(await shown(0).innerText(), /baseline 0\.5/);
    assert.match(await shown(1).innerText(), /not used: all-right/);
    assert.equal(await shown(2).locator(".rollout small").count(), 0);
    await page.keyboard.press("h");
    await page.locator(".curve .cursor").nth(1).waitFor({ state: "attached" });
    assert.match(page.url(), /step=1$/);
    await assertAccessible(watched, "training");
  });

  it("shows every curve at the step under the pointer", async () => {
    const { page } = watched;
    await visit(watched, "/training", ".curve");
    const box = (await page.locator(".curve svg").nth(1).boundingBox())!;
    await page.mouse.move(box.x + 2, box.y + box.height / 2);
    await page.locator(".curve", { hasText: "at step 1" }).nth(1).waitFor();
    await page.mouse.move(0, 0);
    await page.locator(".curve", { hasText: "at step 2" }).nth(1).waitFor();
  });

  it("follows one task through the steps, by key and by address", async () => {
    const { page } = watched;
    await visit(watched, "/training?step=2", ".rollout-groups li");
    await page.keyboard.press("j");
    await page.locator(".rollout-groups li.selected").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".rollout-groups h2", { hasText: "through the steps" }).waitFor();
    await page.locator(".group-name", { hasText: "step 2" }).waitFor();
    assert.deepEqual(await page.locator(".group-name").allInnerTexts(), ["step 1", "step 2"]);
    await page.reload();
    await page.locator(".group-name", { hasText: "step 2" }).waitFor();
    await assertAccessible(watched, "one task through the steps");
    await page.keyboard.press("j");
    await page.locator(".rollout-groups li.selected").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".rollout-groups h2", { hasText: "Rollouts of step 1" }).waitFor();
    assert.match(page.url(), /step=1$/);
  });

  it("says of a training whose process is gone that it was stopped, and when", async () => {
    const { page } = watched;
    const gone = join(folder, "gone");
    const claimed = await claimFolder(gone, { kind: "training", configuration: { stage: "sft", steps: 40 } });
    await claimed.report({ state: "running", done: 2, total: 40 });
    await claimed.release();
    const metrics = await openJsonl(join(gone, "metrics.jsonl"), { lock: false });
    await metrics.append({ step: 2, loss: 1 });
    await metrics.close();
    await visit(watched, "/training/gone", ".run-head .chip.hue-amber");
    const head = await page.locator(".run-head").innerText();
    assert.match(head, /stopped[\s\S]*1 of 40 steps[\s\S]*The last step that it wrote, 2, is of .*\d/);
    await assertAccessible(watched, "a training that was stopped");
    await visit(watched, "/", ".card .chip.hue-amber");
    assert.equal(await page.locator(".card progress").count(), 0);
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
