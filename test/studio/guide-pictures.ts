/**
 * Pictures of the guide, made from the screens themselves. They are written only where COA_SCREENSHOTS names a folder;
 * otherwise it is only seen that each can be made.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { visit, type WatchedPage } from "./studio-browser.ts";

export type GuidePicture = [name: string, route: string, selector: string, dark?: "dark"];

/** Takes the pictures in a window of 1280 pixels. */
export async function takePictures(watched: WatchedPage, pictures: readonly GuidePicture[]): Promise<void> {
  const { page } = watched;
  const out = process.env["COA_SCREENSHOTS"];
  await page.setViewportSize({ width: 1280, height: 860 });
  for (const [name, route, selector, dark] of pictures) {
    await page.emulateMedia({ colorScheme: dark ?? "light" });
    await visit(watched, route, selector);
    await page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)");
    const picture = await page.screenshot({ animations: "disabled", ...(out && { path: join(out, `${name}.png`) }) });
    assert.ok(picture.length > 20_000 && picture.length < 250_000, `${name}: ${picture.length} bytes`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}
