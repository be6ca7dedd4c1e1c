/** The playground in a real browser: the shipped model with the lab's tools beside a running server, both asked at once. */
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { withServer } from "../fixtures/serve-server.ts";
import { useWorkspace, withStudio } from "./run-studio.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, visit } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

describe("the playground", { skip: noBrowser }, () => {
  let folder: string;
  let browser: Browser;
  let leaveWorkspace: () => void;
  before(async () => {
    folder = await studioWorkspace(3, 0, 1);
    leaveWorkspace = useWorkspace(folder);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    leaveWorkspace();
    await rm(folder, { recursive: true });
  });

  it("streams roles and tools of two models, and shows the same when loaded again", async () => {
    await withServer({}, (_ask, served) =>
      withStudio(["--model", "afm-lab-2m", "--model", served], async (studio) => {
        const watched = await openPage(browser, studio);
        const { page } = watched;
        await visit(watched, "/play", ".play-try button");
        assert.equal(await page.locator(".play-side").count(), 2);
        const question = await page.locator(".play-try button").first().innerText();
        await page.keyboard.press("i");
        await page.keyboard.type(question);
        await page.keyboard.press("Control+Enter");
        const [lab, other] = [page.locator(".play-side").nth(0), page.locator(".play-side").nth(1)];
        await lab.locator(".play-end", { hasText: "answered" }).waitFor();
        await other.locator(".play-end", { hasText: "answered" }).waitFor();
        assert.ok((await lab.locator(".by-tool").count()) > 0, "a tool of the lab ran");
        assert.match(await other.locator(".by-tool").innerText(), /Ada lives in Lyon/);
        await assertAccessible(watched, "playground");

        const shown = await page.locator(".play-sides").innerText();
        await page.reload();
        await other.locator(".by-tool").first().waitFor();
        await lab.locator(".play-end", { hasText: "answered" }).waitFor();
        assert.equal(await page.locator(".play-sides").innerText(), shown);
        const kept = (await readFile(join(folder, "playground", "chains.jsonl"), "utf8")).trim().split("\n");
        assert.equal(kept.length, 2);
        await other.getByRole("link", { name: "open as a chain" }).click();
        await page.locator(".segment, .problem").first().waitFor();
        assert.deepEqual(watched.foreign, []);
        assert.deepEqual(watched.errors, []);
      }),
    );
  });

  it("says at its side what can't be opened", async () => {
    await withStudio(["--model", "http://127.0.0.1:9"], async (studio) => {
      const watched = await openPage(browser, studio);
      await visit(watched, "/play", ".play-side .error");
      assert.match(await watched.page.locator(".play-side .error").innerText(), /no server answers at/);
    });
  });
});
