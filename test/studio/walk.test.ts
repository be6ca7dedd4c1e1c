/** One walk through every screen of the studio, in a real browser, over a small workspace. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, visit, type WatchedPage } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

describe("a walk through the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;

  before(async () => {
    folder = await studioWorkspace(30);
    studio = await serveStudio({ paths: [folder], cache: join(folder, "cache") });
    await studio.context.index.ready();
    browser = await launchBrowser();
    watched = await openPage(browser, studio);
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  const firstKey = (kind: "run" | "chain") =>
    studio.context.items.page({ kind }, { by: "order", down: false }, 0, 1).rows[0]!.key;

  /** The same address in a new load shows the same. */
  async function assertSameAfterReload(selector: string): Promise<void> {
    const { page } = watched;
    const text = () => page.locator(selector).allInnerTexts();
    const before = await text();
    await page.reload();
    await page.waitForSelector(selector);
    assert.deepEqual(await text(), before);
  }

  it("shows the team beside the chain, by mouse, by key and by address", async () => {
    const { page } = watched;
    await visit(watched, `/chains/${firstKey("chain")}`, ".segment");
    const segments = await page.locator(".segment").count();
    await page.waitForFunction(`document.querySelectorAll(".gutter path").length >= ${segments}`);
    await page.keyboard.press("]");
    await page.waitForSelector("[data-step].open");
    assert.match(page.url(), /at=s%3Astep-1$/);
    await page.keyboard.press("l");
    await page.waitForSelector(".segment.open");
    await page.locator(".gantt-bar").nth(2).click();
    await page.waitForSelector("[data-step].open .row-detail");
    await assertSameAfterReload(".selected");
    await assertAccessible(watched, "run beside chain");
  });

  it("shows the funnel, each dropped run with its evidence, and what another bound would keep", async () => {
    const { page } = watched;
    await visit(watched, "/distill", ".funnel-stages");
    await page.keyboard.press("l");
    await page.waitForSelector(".funnel-stages .chosen .reasons");
    assert.match(page.url(), /stage=complexity/);
    await page.getByLabel("another bound").fill("5");
    await page.waitForSelector(".command");
    assert.match(await page.locator(".command").innerText(), /coa distill run .* --min-interactions 5 /);
    await assertSameAfterReload(".chosen");
    assert.ok((await page.locator(".dropped-list li").count()) > 0);
    await assertAccessible(watched, "funnel");
  });

  it("asks nobody but itself, and no script fails", () => {
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });
});
