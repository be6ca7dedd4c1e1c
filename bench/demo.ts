/**
 * The demo page of the site in Chromium: what a visitor's machine works, in processor time of the page's process, until the page
 * is ready and from the question to the first token; and how much the page loads. Five worlds, each in a new page.
 */
import { globSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Browser } from "playwright-core";
import { buildSite } from "../docs/site/build.ts";
import type { Figure } from "../scripts/bench.ts";
import { launchBrowser } from "../test/studio/studio-browser.ts";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Processor seconds of the browser's pages so far, all threads. */
async function pageSeconds(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

async function askWorld(browser: Browser, address: string, world: number) {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(address);
  const opened = await pageSeconds(browser);
  await page.waitForSelector("#go:not([disabled])");
  const ready = await pageSeconds(browser);
  await page.fill("#world", String(world));
  await page.click("#go");
  await page.waitForSelector("#chain .own .text:not(:empty)");
  const first = await pageSeconds(browser);
  await page.waitForSelector("#go:not([disabled])");
  const end = await pageSeconds(browser);
  await page.close();
  return { load: ready - opened, first: first - ready, rest: end - first };
}

export default async function bench(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-demo-"));
  const browser = await launchBrowser();
  const server = createServer(async (request, response) => {
    const path = new URL(request.url!, "http://site").pathname;
    const file = await readFile(join(folder, path)).catch(() => undefined);
    response.writeHead(file ? 200 : 404, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    response.end(file);
  });
  try {
    await buildSite(folder);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/demo.html`;
    const asked: Awaited<ReturnType<typeof askWorld>>[] = [];
    for (let world = 0; world < 5; world++) asked.push(await askWorld(browser, address, world));
    const worst = (pick: (one: (typeof asked)[number]) => number) => Math.max(...asked.map(pick));
    const own = [
      "demo.html",
      "demo.js",
      "demo-worker.js",
      "search.js",
      "site.css",
      ...globSync("model/*", { cwd: folder }),
    ];
    const megabytes = own.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0) / 1e6;
    const most = (name: string, value: number, unit: string, bound: number): Figure => ({
      name,
      value,
      unit,
      target: `at most ${bound} ${unit}`,
      met: value <= bound,
    });
    return [
      most(
        "first token after the question, most of five",
        worst(({ first }) => first),
        "processor s",
        2,
      ),
      { name: "until the page is ready, most of five", value: worst(({ load }) => load), unit: "processor s" },
      { name: "the rest of the answer, most of five", value: worst(({ rest }) => rest), unit: "processor s" },
      most("page, program and weights", megabytes, "MB", 6),
    ];
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
}
