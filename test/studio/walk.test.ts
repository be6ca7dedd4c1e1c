/** One walk through every screen of the studio, in a real browser, over a small workspace. */
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { playRoutes } from "../../src/studio/api/play-routes.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { good } from "../fixtures/serve-server.ts";
import { whole } from "../fixtures/test-size.ts";
import { handlerPlayer } from "./handler-player.ts";
import {
  assertAccessible,
  launchBrowser,
  noBrowser,
  openPage,
  until,
  visit,
  type WatchedPage,
} from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

const inOrder = { by: "order", down: false } as const;

describe("a walk through the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;

  before(async () => {
    folder = await studioWorkspace(30);
    const player = await handlerPlayer(
      "scripted",
      {
        model: scriptedModel(good),
        profile: mhqaProfile,
        toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
      },
      { model: "scripted", tools: ["wiki_search"], questions: [] },
    );
    studio = await serveStudio({ paths: [folder], home: folder, more: (context) => playRoutes(context, [player]) });
    await studio.context.catalog.ready();
    browser = await launchBrowser();
    watched = await openPage(browser, studio);
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  const firstKey = (kind: "run" | "chain") => studio.context.items.page({ kind }, inOrder, 0, 1).rows[0]!.key;

  /** In light and dark; in the short tier one screen in light, the next in dark. */
  let screens = 0;
  const accessible = (name: string) =>
    assertAccessible(watched, name, whole ? undefined : [screens++ % 2 === 0 ? "light" : "dark"]);

  /** The same address in a new load shows the same. */
  async function assertSameAfterReload(selector: string): Promise<void> {
    const { page } = watched;
    const texts = `JSON.stringify([...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText))`;
    let before = await page.evaluate(texts);
    for (let last: unknown; last !== before; before = await page.evaluate(texts)) {
      last = before;
      await page.waitForTimeout(100);
    }
    await page.reload();
    // What is outside of the window is drawn a little later.
    await until(watched, `${texts} === ${JSON.stringify(before)}`);
  }

  it("shows how runs became chains and data, and every file", async () => {
    await visit(watched, "/", ".card");
    assert.deepEqual(await watched.page.locator(".lineage-column > h2").allInnerTexts(), [
      "recorded",
      "distilled",
      "datasets",
    ]);
    assert.equal(await watched.page.locator(".lineage path").count(), 2);
    await watched.page.locator(".files summary").click();
    assert.ok((await watched.page.locator(".files tbody tr").count()) >= 5);
    await accessible("overview");
  });

  it("shows rounds of improvement, and a page for each with its curve", async () => {
    const point = { success: 0.98, loss: 0.01 };
    const round = {
      promote: true,
      reasons: [],
      sentence: "with 95 % confidence <b>different</b> in at most 5.0 %",
      exam: { tasks: 300, live: 0.8, candidate: 0.9, loss: { value: -0.1, low: -0.15, high: 0.01 }, power: 0.9 },
      tokens: { live: 3000, candidate: 1500, old: 5000 },
      escalated: { live: 0.4, candidate: 0.1 },
      facts: { number: 1, basis: "agreement", counts: { served: 600 }, learned: 90, guarded: 90, seconds: 240, auditTokens: 9e5 }, // biome-ignore format: one line
      figures: { all: { escalated: 0.1 }, curve: [{ ...point, escalated: 0.4, billedTokens: 3000 }, { ...point, escalated: 0.1, billedTokens: 1500 }] }, // biome-ignore format: one line
    };
    await mkdir(join(folder, "switch", "rounds", "1"), { recursive: true });
    await writeFile(join(folder, "switch", "rounds", "1", "decision.json"), JSON.stringify(round));
    await visit(watched, "/rounds", "tbody tr");
    await accessible("rounds");
    await watched.page.locator("tbody a").click();
    await watched.page.waitForSelector("figure circle");
    assert.match(await watched.page.locator("article").innerText(), /<b>different<\/b>/);
    await accessible("round");
  });

  it("lists, narrows, searches and saves a view, by mouse and by key", async () => {
    const { page } = watched;
    await visit(watched, "/runs", ".item");
    assert.ok((await page.locator(".virtual-row").count()) <= 80);
    await page.locator(".facet", { hasText: "hop2" }).locator("input").check();
    const { total } = studio.context.items.page({ kind: "run", values: { family: ["hop2"] } }, inOrder, 0, 1);
    await until(watched, `document.querySelector("h1 .soft")?.textContent === "${total}"`);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.waitForSelector(".virtual-row.active");
    await assertSameAfterReload(".virtual-row.active");
    page.once("dialog", (dialog) => void dialog.accept("two hops"));
    await page.keyboard.press("Shift+S");
    await page.waitForSelector(".views .own");
    await accessible("list");
    await page.keyboard.press("/");
    await page.keyboard.type("mayor");
    await page.keyboard.press("Enter");
    await until(watched, `location.hash.includes("q=mayor")`);
    await page.waitForSelector(".item");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".gantt");
  });

  it("shows the tokens of an example of a dataset with the dataset's own mask", async () => {
    const { page } = watched;
    await visit(watched, "/datasets", ".example");
    await accessible("dataset");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".token-block .t");
    const { key } = studio.context.items.page({ kind: "example" }, inOrder, 0, 1).rows[0]!;
    const learned = studio.context.items.find("example", key)!.toolCalls;
    await until(watched, `document.querySelectorAll(".token-blocks .u8").length === ${learned}`);
    assert.match(await page.locator(".run-head").innerText(), /mask as in dataset\/examples\.jsonl/);
    await page.keyboard.press("n");
    await page.waitForSelector(".t[aria-current]");
    await assertSameAfterReload(".token-facts");
    await accessible("tokens");
    await page.keyboard.press("2");
    await until(watched, `location.hash.includes("colour=logprob")`);
  });

  it("shows the team beside the chain, by mouse, by key and by address", async () => {
    const { page } = watched;
    await visit(watched, `/chains/${firstKey("chain")}`, ".segment");
    const segments = await page.locator(".segment").count();
    await until(watched, `document.querySelectorAll(".gutter path").length >= ${segments}`);
    await page.keyboard.press("]");
    await page.waitForSelector("[data-step].open");
    assert.match(page.url(), /at=s%3Astep-1$/);
    await page.keyboard.press("l");
    await page.waitForSelector(".segment.open");
    await page.locator(".gantt-bar").nth(2).click();
    await page.waitForSelector("[data-step].open .row-detail");
    await assertSameAfterReload(".selected");
    await accessible("run beside chain");
  });

  it("shows the funnel and each dropped run with its evidence", async () => {
    const { page } = watched;
    await visit(watched, "/distill", ".funnel-stages");
    await page.keyboard.press("l");
    await page.waitForSelector(".funnel-stages .chosen .reasons");
    assert.match(page.url(), /stage=complexity/);
    await assertSameAfterReload(".chosen");
    await page.waitForSelector(".dropped-list li"); // their questions come with a request of their own
    await accessible("funnel");
  });

  it("reviews a chain by key, and plays with a model", async () => {
    const { page } = watched;
    await visit(watched, "/review", ".review-segment");
    await accessible("review");
    await page.keyboard.press("d");
    await page.locator(".review-counts", { hasText: "1 dropped" }).waitFor();
    await page.keyboard.press("l");
    await page.locator(".review-segment.selected").waitFor();
    await assertSameAfterReload(".review-screen");
    await visit(watched, "/play", ".play-side h2");
    await page.keyboard.press("i");
    await page.keyboard.type("Where does Ada live?");
    await page.keyboard.press("Control+Enter");
    await page.locator(".play-end", { hasText: "answered" }).waitFor();
    assert.match(await page.locator(".play-side .by-tool").innerText(), /Ada lives in Lyon/);
    await accessible("playground");
    await assertSameAfterReload(".play-end a");
  });

  it("asks nobody but itself, and no script fails", () => {
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });
});
