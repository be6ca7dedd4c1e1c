/** A running server beside the studio: its kept chains come into the list as they are answered, and what users say into review. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { openKeptChains } from "../../src/serve/kept-chains.ts";
import { serveStudio } from "../../src/studio/api/serve-studio.ts";
import { withServer } from "../fixtures/serve-server.ts";
import { assertAccessible, launchBrowser, noBrowser, openPage, until, visit } from "./studio-browser.ts";

describe("a running server in the studio", { skip: noBrowser }, () => {
  it("shows each kept chain once it is answered, and what users say about it, without a reload", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-served-"));
    const kept = await openKeptChains(join(folder, "kept.jsonl"), join(folder, "annotations.jsonl"));
    const onTrajectory = (chain: Trajectory) => void kept.append(chain);
    const { delete: forget, annotate } = kept;
    const studio = await serveStudio({ paths: [folder], home: folder });
    const browser = await launchBrowser();
    try {
      await withServer({ onTrajectory, forget, annotate }, async (ask) => {
        const watched = await openPage(browser, studio, "/chains");
        const { page } = watched;
        await page.getByText("Nothing fits").waitFor();
        const answer = async () => {
          const messages = [{ role: "user", content: "Where does Ada live?" }];
          const reply = await ask("/v1/chat/completions", { messages });
          return ((await reply.json()) as { id: string }).id;
        };
        const ids: string[] = [];
        for (const number of [1, 2, 3]) {
          ids.push(await answer());
          await until(watched, `document.querySelectorAll("a.item").length === ${number}`);
        }
        await assertAccessible(watched, "served chains");

        const say = async (id: string, said: object) =>
          assert.equal((await ask("/v1/feedback", { id, ...said })).status, 200);
        await visit(watched, "/review?only=said", ".review-counts");
        await page.getByText("Nothing is left to decide here").waitFor();
        await say(ids[0]!, { score: 0, label: "wrong town", comment: "<b>not</b> there" });
        await say(ids[1]!, { comment: "no decision, only words" });
        await say(ids[2]!, { correction: "Marseille" });
        const said = page.locator("section", { hasText: "what users of the served model said" }).last();
        await until(watched, `/users spoke about 3/.test(document.querySelector(".review-counts").innerText)`);
        await said.getByText("<b>not</b> there").waitFor();
        assert.match(await said.innerText(), /score 0[\s\S]*wrong town/);
        assert.match(await page.locator(".review-counts").innerText(), /1 open, 0 kept, 1 dropped, 1 edited/);
        await assertAccessible(watched, "what users said");
        await page.keyboard.press("n");
        await said.getByText("no decision, only words").waitFor();
        await page.keyboard.press("n");
        await said.getByText("right would be: Marseille").waitFor();
        assert.deepEqual([watched.errors, watched.foreign], [[], []]);
      });
    } finally {
      await browser.close();
      await studio.close();
      await kept.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
