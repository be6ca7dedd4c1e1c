/**
 * The pictures of the guide, made from the screens themselves over a small workspace. They are written only where
 * COA_SCREENSHOTS names a folder; otherwise the test looks that every picture of the guide can be made.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { serveStudio } from "../../src/studio/api/serve-studio.ts";
import { launchBrowser, noBrowser, openPage, visit } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

describe("the guide's pictures", { skip: noBrowser }, () => {
  it("are made from the screens", async () => {
    const folder = await studioWorkspace(160);
    const out = process.env["COA_SCREENSHOTS"] ?? (await mkdtemp(join(tmpdir(), "coa-pictures-")));
    const studio = await serveStudio({ paths: [folder], home: folder });
    const browser = await launchBrowser();
    try {
      await studio.context.index.ready();
      const longest = studio.context.items.page({ kind: "chain" }, { by: "moves", down: true }, 10, 1).rows[0]!.key;
      const watched = await openPage(browser, studio);
      const { page } = watched;
      await page.setViewportSize({ width: 1280, height: 860 });
      const pictures: [name: string, route: string, selector: string, dark?: boolean][] = [
        ["studio-run", `/chains/${longest}?at=s%3Astep-3`, ".gutter path.selected"],
        ["studio-tokens", `/chains/${longest}/tokens?at=60`, ".token-facts dl", true],
        ["studio-funnel", "/distill?stage=complexity&bound=5", ".command"],
        ["studio-list", "/chains?row=3", ".virtual-row.active", true],
      ];
      for (const [name, route, selector, dark] of pictures) {
        await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
        await visit(watched, route, selector);
        await page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)");
        const picture = await page.screenshot({ path: join(out, `${name}.png`), animations: "disabled" });
        assert.ok(picture.length > 20_000 && picture.length < 400_000, `${name}: ${picture.length} bytes`);
      }
      assert.deepEqual(watched.errors, []);
    } finally {
      await browser.close();
      await studio.close();
      await rm(folder, { recursive: true });
      if (!process.env["COA_SCREENSHOTS"]) await rm(out, { recursive: true });
    }
  });
});
