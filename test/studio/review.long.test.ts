/** Review in a real browser: twenty chains are decided by key, the dataset is built, and exactly these rows differ. */
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { namedProfiles } from "../../src/cli/choose-profile.ts";
import { openDataset } from "../../src/dataset/dataset-folder.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { coa } from "../fixtures/run-coa.ts";
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

const decided = 20;

describe("review in the studio", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;
  let watched: WatchedPage;
  before(async () => {
    folder = await studioWorkspace(30, 0.1, 1);
    studio = await serveStudio({ paths: [folder], home: folder, profiles: namedProfiles });
    await studio.context.catalog.ready();
    browser = await launchBrowser();
    watched = await openPage(browser, studio);
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  const counts = (text: string) => watched.page.locator(".review-counts", { hasText: text }).waitFor();

  it("writes what was decided by key, refuses an edit at its field, and the dataset follows", async () => {
    const { page } = watched;
    const file = "distill/trajectories.jsonl";
    const ids = studio.context.items
      .page({ kind: "chain", values: { file: [file] } }, { by: "order", down: false }, 0, 200)
      .rows.map(({ key }) => key);
    assert.ok(ids.length > decided, `${ids.length} chains`);
    await visit(watched, `/chains?file=${encodeURIComponent(file)}`, ".item");
    await page.keyboard.press("v");
    await page.waitForSelector(".review-segment");
    await assertAccessible(watched, "review");
    const changed = new Set<string>();
    for (let place = 0; place < decided; place++) {
      await page.locator(".review-chain", { hasText: ids[place]! }).waitFor();
      if (place % 4 === 3) {
        await page.keyboard.press("e");
        const field = page.getByLabel("Text of segment 0");
        if (place === 3) {
          await field.fill("so </think><answer>now</answer>");
          await page.keyboard.press("Control+Enter");
          await page.locator(".segment-editor [role=alert]", { hasText: "contains </think>" }).waitFor();
          await assertAccessible(watched, "a refused edit");
          await page.keyboard.press("Escape");
          await field.waitFor({ state: "detached" });
          await counts(`${ids.length - 3} open`);
          await page.keyboard.press("e");
        }
        await field.fill(`words of my own ${place}`);
        await page.keyboard.press("Control+Enter");
        await page.locator(".review-segment ins", { hasText: `words of my own ${place}` }).waitFor();
        changed.add(ids[place]!);
        await page.keyboard.press("k");
      } else if (place % 4 === 1) {
        changed.add(ids[place]!);
        await page.keyboard.press("d");
      } else await page.keyboard.press("k");
    }
    await counts(`${ids.length - decided} open, 10 kept, 5 dropped, 5 edited`);
    // The last that was kept is looked at again, dropped, and that is taken back.
    await page.keyboard.press("p");
    await visit(
      watched,
      `/review?only=all&file=${encodeURIComponent(file)}&at=${ids[18]}`,
      ".review-chain .chip.hue-green",
    );
    await page.keyboard.press("u");
    await counts(`${ids.length - decided + 1} open`);
    await page.keyboard.press("l");
    await page.locator('.review-segment.selected[data-segment="0"]').waitFor();
    const shown = await page.locator(".review-screen").innerText();
    await page.reload();
    await page.locator('.review-segment.selected[data-segment="0"]').waitFor();
    // Segments below the window are drawn a little later.
    await until(watched, `document.querySelector(".review-screen").innerText === ${JSON.stringify(shown)}`);
    const annotations = join(folder, "annotations.jsonl");
    assert.equal((await readFile(annotations, "utf8")).trim().split("\n").length, decided + 1);

    const args = ["--tokenizer", join(folder, "dataset", "tokenizer"), "--out", join(folder, "reviewed")];
    const built = await coa("dataset", "build", join(folder, file), ...args, "--annotations", annotations);
    assert.equal(built.code, 0, built.stderr);
    assert.match(built.stdout, /review: 9 kept, 5 edited, 5 dropped$/m);
    const rowsOf = async (name: string) =>
      new Map((await Array.fromAsync((await openDataset(join(folder, name))).sequences())).map((row) => [row.id, row]));
    const [plain, reviewed] = [await rowsOf("dataset"), await rowsOf("reviewed")];
    const differing = [...plain].filter(([id, row]) => JSON.stringify(reviewed.get(id)) !== JSON.stringify(row));
    assert.deepEqual(new Set(differing.map(([id]) => id)), changed);
    assert.equal(reviewed.size, plain.size - 5);
    assert.deepEqual(watched.foreign, []);
    // The browser reports the refused edit's status.
    assert.deepEqual(
      watched.errors.filter((error) => !error.includes("422")),
      [],
    );
  });

  it("takes the chains of one task from where they are compared: the better one is kept, the other dropped", async () => {
    const { page } = watched;
    const [first] = (await readFile(join(folder, "distill", "trajectories.jsonl"), "utf8")).split("\n");
    const other = { ...JSON.parse(first!), id: "other", model: "other-model" };
    await writeFile(join(folder, "again.jsonl"), `${JSON.stringify(other)}\n`);
    await visit(watched, `/compare/${encodeURIComponent(other.taskId)}`, ".compare-rows li");
    await page.keyboard.press("v");
    await page.locator(".review-head", { hasText: "of 2" }).waitFor();
    for (const key of ["d", "k"]) {
      const shown = await page.locator(".review-chain").innerText();
      await page.keyboard.press(key);
      if (key === "d")
        await until(watched, `document.querySelector(".review-chain")?.innerText !== ${JSON.stringify(shown)}`);
    }
    await counts("1 kept, 1 dropped");
    const verdicts = await studio.context.annotations.verdicts();
    assert.equal([...verdicts.get("other")!.values()][0]!.verdict, "keep");
  });
});
