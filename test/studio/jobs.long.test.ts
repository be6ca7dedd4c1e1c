/**
 * Four jobs that people bring to the studio, each in at most four clicks from the overview, and once more by the keyboard
 * alone. Every page on the way is free of violations of accessibility.
 */
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Browser, Locator } from "playwright-core";
import { readEvaluation } from "../../src/evaluate/read-evaluation.ts";
import { escapeHtml } from "../../src/report/page.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { jobWorkspace } from "./job-workspace.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, pressKey, type WatchedPage } from "./studio-browser.ts";

const evaluations = "quickstart/evaluate";
const [sft, rl] = [`${evaluations}/chain-sft-failing`, `${evaluations}/chain-rl-failing`] as const;

describe("jobs in the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;
  let clicks = 0;
  /** Tasks that the model solves before RL and not after it. */
  let lost: string[];

  before(async () => {
    folder = await jobWorkspace();
    const rightIn = async (name: string) => {
      const { records } = await readEvaluation(join(folder, name));
      return new Set(records.filter(({ grade }) => grade.correct === true).map(({ taskId }) => taskId));
    };
    const after = await rightIn(rl);
    lost = [...(await rightIn(sft))].filter((task) => !after.has(task));
    assert.ok(lost.length > 0, "RL at this rate loses tasks");
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.catalog.ready();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    clicks = 0;
    await watched?.page.close();
    watched = await openPage(browser, studio);
    await watched.page.waitForSelector(".card");
    await assertAccessible(watched, "overview");
  });

  const main = (text: RegExp) => watched.page.locator("main", { hasText: text }).waitFor();
  const click = async (on: Locator) => {
    clicks++;
    await on.click();
  };
  const goTo = (screen: string) => click(watched.page.locator(".top nav a", { hasText: screen }));
  const choose = async (label: string, value: string) => {
    clicks++;
    await watched.page.getByLabel(label).selectOption(value);
  };
  const keys = async (...pressed: string[]) => {
    for (const one of pressed) await pressKey(watched, one);
  };
  /** Presses a key until the address has a value. */
  const keyUntil = async (key: string, name: string, value: string) => {
    const now = () => new URLSearchParams(new URL(watched.page.url()).hash.split("?")[1]).get(name);
    for (let tries = 0; now() !== value; tries++) {
      assert.ok(tries < 40, `${key} never came to ${value}`);
      await pressKey(watched, key);
    }
  };
  const end = async (name: string) => {
    await assertAccessible(watched, name);
    assert.ok(clicks <= 4, `${clicks} clicks`);
    assert.deepEqual([watched.errors, watched.foreign], [[], []]);
  };

  const byBoth = (
    job: string,
    mouse: () => Promise<void>,
    keyboard: () => Promise<void>,
    seen: () => Promise<void>,
  ) => {
    it(`${job}, by mouse`, async () => {
      await mouse();
      await seen();
    });
    it(`${job}, by the keyboard alone`, async () => {
      await keyboard();
      assert.equal(clicks, 0);
      await seen();
    });
  };

  it("says the result on the overview by the words of the terminal and of the report", async () => {
    const report = join(folder, "quickstart", "report");
    const [sentence] = (await readFile(join(report, "table.txt"), "utf8")).split("\n");
    assert.match(sentence!, /^One model answers \d+ of 24 new questions/);
    assert.equal(await watched.page.locator(".result > p").innerText(), sentence);
    assert.ok((await readFile(join(report, "report.html"), "utf8")).includes(escapeHtml(sentence!)));
  });

  byBoth(
    "why did this task fail after RL?",
    async () => {
      await goTo("Evaluations");
      await choose("wrong in", rl);
      await assertAccessible(watched, "tasks that RL fails");
      await click(watched.page.locator(".matrix-row", { hasText: "✗ wrong" }).first());
    },
    async () => {
      await keys("g e");
      await watched.page.waitForSelector(".matrix-row");
      await keyUntil("w", "wrong", rl);
      await keys("j", "enter");
    },
    async () => {
      await main(/right answer \S/);
      const { page } = watched;
      const heads = await page.locator(".compare-head section").allInnerTexts();
      assert.equal(heads.length, 3, "the team, the model before RL, the model after it");
      assert.match(heads.find((head) => head.startsWith("chain-rl-failing"))!, /✗ wrong/);
      const moves = page.locator(".compare-rows .open .compare-detail");
      assert.ok((await moves.innerText()).trim().length > 0, "the move at which they part is open");
      await end("compare");
    },
  );

  byBoth(
    "what did the manager re-read?",
    async () => {
      await goTo("Runs");
      await watched.page.waitForSelector("a.item");
      await assertAccessible(watched, "runs");
      await click(watched.page.locator("a.item").first());
      await click(watched.page.locator(".row-head", { hasText: "manager" }).nth(1));
      await click(watched.page.locator(".row.open summary"));
    },
    async () => {
      await keys("g r");
      await watched.page.waitForSelector("a.item");
      await keys("j", "enter");
      await watched.page.waitForSelector(".gantt");
      await keys("]", "]", "o");
    },
    async () => {
      const step = watched.page.locator(".row.open", { hasText: "manager" });
      assert.match(await step.innerText(), /read [\d.]+k?: [\d.]+k? again, [\d.]+k? told again/);
      const messages = step.locator("details[open] .given");
      const texts = await messages.allInnerTexts();
      assert.ok(
        texts.some((text) => /^user\n\S/.test(text)),
        `the very words that were read again: ${texts}`,
      );
      await end("run");
    },
  );

  byBoth(
    "which filter dropped my best runs?",
    async () => {
      await click(watched.page.locator(".card", { hasText: "strict" }));
      await watched.page.waitForSelector(".stage");
      await assertAccessible(watched, "funnel");
      await click(watched.page.locator(".stage", { hasText: /\d right/ }));
    },
    async () => {
      await keys("g d");
      await watched.page.waitForSelector(".stage");
      await keys("j");
      await main(/strict[\s\S]*\d right/);
      await keys("l");
    },
    async () => {
      const chosen = watched.page.locator(".funnel-stages .chosen");
      assert.match(await chosen.innerText(), /complexity[\s\S]*\d right/);
      const first = watched.page.locator(".dropped-list li", { hasText: "✓ right answer" }).first();
      assert.match(await first.innerText(), /interactions \d, bound 6/);
      await assertAccessible(watched, "what one filter dropped");
      if (clicks > 0) await click(first.locator("a"));
      else await keys("n", "enter");
      await watched.page.waitForSelector(".gantt");
      await end("the run that was dropped");
    },
  );

  byBoth(
    "where is SFT right and RL wrong, and what did it cost?",
    async () => {
      await goTo("Evaluations");
      await choose("right in", sft);
      await choose("wrong in", rl);
    },
    async () => {
      await keys("g e");
      await watched.page.waitForSelector(".matrix-row");
      await keyUntil("r", "right", sft);
      await keyUntil("w", "wrong", rl);
    },
    async () => {
      await main(new RegExp(`${lost.length} of 24 tasks`));
      const { page } = watched;
      assert.equal(await page.locator(".matrix-row").count(), lost.length);
      for (const head of await page.locator(".matrix-head > div").allInnerTexts())
        assert.match(head, /[\d.]+k? tokens, [\s\S]+ a success\n[\d.]+k? tokens a task shown here/);
      for (const cell of await page.locator(".matrix-row .matrix-cell").allInnerTexts())
        assert.match(cell, /(?:right|wrong) [\d.]+k?$/);
      await end("matrix");
    },
  );
});
