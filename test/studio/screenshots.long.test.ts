/** The guide's pictures of a team's runs; those of training, evaluation and review are made from a quickstart's data. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { serveStudio } from "../../src/studio/api/serve-studio.ts";
import { takePictures } from "./guide-pictures.ts";
import { launchBrowser, noBrowser, openPage } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

describe("the guide's pictures", { skip: noBrowser }, () => {
  it("are made from the screens", async () => {
    const folder = await studioWorkspace(160);
    const studio = await serveStudio({ paths: [folder], home: folder });
    const browser = await launchBrowser();
    try {
      await studio.context.catalog.ready();
      const longest = studio.context.items.page({ kind: "chain" }, { by: "moves", down: true }, 10, 1).rows[0]!.key;
      const watched = await openPage(browser, studio);
      await takePictures(watched, [
        ["studio-run", `/chains/${longest}?at=s%3Astep-3`, ".gutter path.selected"],
        ["studio-tokens", `/chains/${longest}/tokens?at=60`, ".token-facts dl", "dark"],
        ["studio-funnel", "/distill?stage=complexity", ".reasons"],
        ["studio-list", "/chains?row=3", ".virtual-row.active", "dark"],
      ]);
      assert.deepEqual(watched.errors, []);
    } finally {
      await browser.close();
      await studio.close();
      await rm(folder, { recursive: true });
    }
  });
});
