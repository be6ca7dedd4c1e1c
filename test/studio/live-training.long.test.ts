/** The studio beside a real `coa train rl` of the shipped model: curves and rollouts come as the run writes them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { launchBrowser, noBrowser, openPage, visit } from "./studio-browser.ts";

const root = join(import.meta.dirname, "..", "..");

describe("a training that runs", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-live-"));
    const tasks = await openJsonl(join(folder, "tasks.jsonl"));
    const world = createWorld({ seed: 5, pages: 200, split: "train" });
    await tasks.appendAll(worldTasks(world, { count: 12, families: ["hop1"] }));
    await tasks.close();
    studio = await serveStudio({ paths: [folder], home: folder });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  it("is seen step by step, without a reload", async () => {
    const watched = await openPage(browser, studio);
    const { page } = watched;
    await visit(watched, "/training", ".state");
    const args =
      "--profile lab --bare --steps 2 --groups 2 --samples 4 --set train.updates=1 --tool-faults web_search:empty=0.4 --rate 1e-5 --set engine.threads=1 --json";
    const given = [join(folder, "tasks.jsonl"), "--model", join(root, "weights", "afm-lab-2m")];
    const child = spawn(
      process.execPath,
      [join(root, "src", "cli", "main.ts"), "train", "rl", ...given, "--out", join(folder, "rl"), ...args.split(" ")],
      { cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    );
    const ended = once(child, "close");
    let said = "";
    child.stderr.on("data", (chunk) => (said += chunk));
    try {
      await Promise.race([
        page.locator(".curve", { hasText: "at step 1" }).first().waitFor(),
        ended.then(([code]) => code !== 0 && Promise.reject(new Error(`coa train rl ended with ${code}: ${said}`))),
      ]);
      await page.locator(".curve", { hasText: "at step 2" }).first().waitFor();
      await page.locator(".rollout-groups .rollout").first().waitFor();
      const [code] = await ended;
      assert.equal(code, 0, said);
      await page.locator(".chip", { hasText: "done" }).waitFor();
      assert.ok((studio.context.items.counts()["chain"] ?? 0) >= 8);
    } finally {
      child.kill();
      await ended;
    }
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });
});
