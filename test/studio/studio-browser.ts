/**
 * A browser over a studio, for the tests: every page is watched for requests that leave the machine, for errors in its
 * console, and can be checked for accessibility in light and dark.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import type { Studio } from "../../src/studio/api/serve-studio.ts";

const chromiumPath = process.env["COA_CHROMIUM"] ?? "/usr/bin/chromium";
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Why the browser's tests can't run here; false where they can. */
export const noBrowser = existsSync(chromiumPath) ? false : "no Chromium on this machine";

/** A page with what it did. */
export interface WatchedPage {
  page: Page;
  /** Requests to anywhere but the studio. */
  foreign: string[];
  /** Errors of scripts and of the console. */
  errors: string[];
}

/** Starts the browser; on a machine under load the first one may be killed. */
export async function launchBrowser(): Promise<Browser> {
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
  ];
  for (let tries = 0; ; tries++) {
    try {
      return await chromium.launch({ executablePath: chromiumPath, args, timeout: 0 });
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}

/** Opens a page of the studio at a route. */
export async function openPage(
  browser: Browser,
  studio: Pick<Studio, "origin" | "token">,
  route = "/",
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(0);
  const watched: WatchedPage = { page, foreign: [], errors: [] };
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(studio.origin) && !url.startsWith("data:") && !url.startsWith("blob:"))
      watched.foreign.push(url);
  });
  page.on("pageerror", (error) => watched.errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") watched.errors.push(message.text());
  });
  const joined = route.includes("?") ? `${route}&` : `${route}?`;
  await page.goto(`${studio.origin}/#${joined}token=${studio.token}`);
  return watched;
}

/** Presses a key as the studio names it: `shift+j`, `enter`, `g r` (one after the other). */
export async function pressKey({ page }: WatchedPage, keys: string): Promise<void> {
  for (const key of keys.split(" ")) {
    const name = key.replace(/^shift\+(.)$/, (_, letter: string) => `Shift+${letter.toUpperCase()}`);
    await page.keyboard.press(name.replace(/^(?:enter|escape)$/, (word) => word[0]!.toUpperCase() + word.slice(1)));
  }
}

/** Goes to a route and waits until an element is there. */
export async function visit({ page }: WatchedPage, route: string, selector: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${route}`)}`);
  await page.waitForSelector(selector);
}

/**
 * Waits until an expression is true in the page. Not `waitForFunction`: that evaluates in the page itself when the first try
 * fails, and the page's policy refuses it.
 */
export async function until({ page }: WatchedPage, expression: string): Promise<void> {
  // Counted, so that what never comes fails with its name instead of holding the run.
  for (let look = 0; look < 2400; look++) {
    if (await page.evaluate(`Boolean(${expression})`)) return;
    await page.waitForTimeout(50);
  }
  throw new Error(`never true: ${expression.slice(0, 400)}`);
}

/** Violations of accessibility in light and dark; there should be none. */
export async function assertAccessible(
  { page }: WatchedPage,
  name: string,
  schemes: readonly ("light" | "dark")[] = ["light", "dark"],
): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    // The page's own policy lets no script in: the protocol does.
    await page.evaluate(axeSource);
    const violations = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } };
      return (await axe.run()).violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .map(({ html }) => html.slice(0, 160))
            .slice(0, 3)
            .join("  ")}`,
      );
    });
    assert.deepEqual(violations, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

interface AxeViolation {
  id: string;
  nodes: { html: string }[];
}
