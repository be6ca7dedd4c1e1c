/** The page at `/` in a real browser: the playground asks, shows the roles and the answer, and nothing breaks its policy. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "./fixtures/serve-server.ts";
import { launchBrowser, noBrowser } from "./studio/studio-browser.ts";

describe("the page at / in Chromium", { skip: noBrowser }, () => {
  it("asks with the key and shows roles and answer as text", async () => {
    const browser = await launchBrowser();
    try {
      await withServer({ keys: [{ key: "sk-test-key" }] }, async (_ask, origin) => {
        const page = await browser.newPage();
        page.setDefaultTimeout(0);
        const problems: string[] = [];
        page.on("pageerror", (error) => problems.push(error.message));
        page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
        await page.goto(origin);
        await page.fill("[name=question]", "Where does Ada live?");
        await page.fill("[name=key]", "sk-test-key");
        await page.click("button");
        await page.waitForSelector("#out strong");
        const said = (await page.textContent("#out")) ?? "";
        assert.match(said, /^think: look it up\nwiki_search: Ada\nthink: there\nLyon$/);
        assert.deepEqual(
          problems.filter((text) => !text.includes("favicon")),
          [],
        );
      });
    } finally {
      await browser.close();
    }
  });
});
