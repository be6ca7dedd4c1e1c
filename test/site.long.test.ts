/**
 * The documentation site on a plain static server, walked in a browser: every link leads somewhere, the search finds pages, and
 * the shipped model answers held-out questions inside the page, word for word as the command line does.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { buildSite } from "../docs/site/build.ts";
import type { FromDemo } from "../docs/site/demo-messages.ts";
import type { Trajectory } from "../src/core/trajectory.ts";
import { buildIndex } from "../src/tools/local-index/build-index.ts";
import { startPageWorker } from "./fixtures/page-worker.ts";
import { coa } from "./fixtures/run-coa.ts";
import { assertAccessible, launchBrowser, noBrowser, until, type WatchedPage } from "./studio/studio-browser.ts";

const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-site-"));
  await buildSite(folder);
});
after(() => rm(folder, { recursive: true }));

/** What `coa ask` answers to the first question of a test world, with all that it wrote and read. */
async function asked(world: number) {
  const { stdout } = await coa("ask", "--lab", String(world), "--json");
  const { segments, answer } = JSON.parse(stdout) as Trajectory;
  return { answer, texts: segments.map(({ tag, text }) => [tag, text]), tokens: segments.map(({ tokens }) => tokens) };
}

describe("the documentation site", () => {
  it("has a page for every document, and no link of its own that leads nowhere", () => {
    const pages = globSync("**/*.html", { cwd: folder });
    assert.ok(pages.length > 40);
    const text = (page: string) => readFileSync(join(folder, page), "utf8");
    const ids = new Map(
      pages.map((page) => [page, new Set([...text(page).matchAll(/ id="([^"]+)"/g)].map((one) => one[1]!))]),
    );
    const broken: string[] = [];
    for (const page of pages)
      for (const [, address] of text(page).matchAll(/(?:href|src)="([^"]+)"/g)) {
        if (/^[a-z]+:/.test(address!)) continue;
        const { pathname, hash } = new URL(address!, `http://site/${page}`);
        const place = decodeURIComponent(hash.slice(1));
        const found = existsSync(join(folder, pathname));
        if (!found || (place && !ids.get(pathname.slice(1))?.has(place))) broken.push(`${page}: ${address}`);
      }
    assert.deepEqual(broken, []);
  });

  it("finds a page by its words", () => {
    const rows = JSON.parse(readFileSync(join(folder, "search.json"), "utf8")) as string[][];
    const index = buildIndex(
      rows.map(([id, page, part, text]) => ({ id: id!, title: `${page} ${part}`, text: text! })),
    );
    assert.match(index.search("nsjail sandbox programs", 1)[0]!.document.id, /^guide\/sandboxes\.html#/);
  });

  it("weighs less than 6 MB with the weights, all that the demo loads", () => {
    const own = ["demo.html", "demo.js", "demo-worker.js", "search.js", "site.css"];
    const used = [...own, ...globSync("model/*", { cwd: folder })];
    const bytes = used.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
    assert.ok(bytes < 6e6, `${bytes} bytes`);
  });

  it("has a demo that answers 20 of 20 held-out questions by the very tokens of `coa ask`, with nothing of Node", async () => {
    let heard: (message: FromDemo) => void = () => {};
    const next = () => new Promise<FromDemo>((resolve) => (heard = resolve));
    const ready = next();
    const worker = await startPageWorker(folder, "demo-worker.js", (message: FromDemo) => {
      if (message.type === "ready" || message.type === "failed") heard(message);
      else if (message.type === "event" && message.event.type === "chain-end") heard(message);
    });
    assert.equal((await ready).type, "ready");
    const loaded = worker.fetched.length;
    for (let world = 0; world < 20; world++) {
      const end = next();
      worker.send({ world, number: 1 });
      const message = await end;
      assert.ok(message.type === "event" && message.event.type === "chain-end", JSON.stringify(message));
      const { answer, segments } = message.event.trajectory;
      const texts = segments.map(({ tag, text }) => [tag, text]);
      assert.deepEqual({ answer, texts, tokens: segments.map(({ tokens }) => tokens) }, await asked(world));
    }
    assert.equal(worker.fetched.length, loaded, "nothing is fetched while it answers");
  });
});

describe("the documentation site in a browser", { skip: noBrowser }, () => {
  let server: Server;
  let origin: string;
  let browser: Browser;
  const requests: string[] = [];

  before(async () => {
    // Under a path of its own, as project pages are: every address in the site must be relative.
    server = createServer(async (request, response) => {
      const path = new URL(request.url!, "http://site").pathname;
      requests.push(path);
      const file = await readFile(join(folder, path.replace(/^\/docs\//, ""))).catch(() => undefined);
      const type = types[extname(path)] ?? "application/octet-stream";
      response.writeHead(file && path.startsWith("/docs/") ? 200 : 404, { "content-type": type });
      response.end(file);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  async function open(path: string): Promise<WatchedPage> {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    const watched: WatchedPage = { page, foreign: [], errors: [] };
    page.on("request", (request) => void (request.url().startsWith(origin) || watched.foreign.push(request.url())));
    page.on("pageerror", (error) => watched.errors.push(error.message));
    page.on("console", (message) => void (message.type() === "error" && watched.errors.push(message.text())));
    await page.goto(`${origin}/docs/${path}`);
    return watched;
  }

  it("finds pages by their words, by the keyboard alone, and is accessible", async () => {
    const watched = await open("guide/up.html");
    const { page } = watched;
    await assertAccessible(watched, "guide");
    await page.keyboard.press("/");
    await page.keyboard.type("nsjail sandbox programs");
    await until(watched, "document.querySelectorAll('search li a').length > 3");
    await assertAccessible(watched, "search");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/sandboxes\.html#/);
    assert.match(await page.locator("main").innerText(), /nsjail/);
    assert.deepEqual([watched.errors, watched.foreign], [[], []]);
    await page.close();
  });

  it("answers 20 of 20 held-out questions in the page exactly as `coa ask` does, and asks nothing of any server", async () => {
    const watched = await open("demo.html");
    const { page } = watched;
    await until(watched, "!document.querySelector('#go').disabled");
    const loaded = requests.length;
    for (let world = 0; world < 20; world++) {
      await page.fill("#world", String(world));
      await page.click("#go");
      await until(
        watched,
        "document.querySelector('#chain').dataset.trajectory || /failed/.test(document.querySelector('#status').textContent)",
      );
      const shown = JSON.parse((await page.getAttribute("#chain", "data-trajectory")) ?? "{}");
      const { answer, texts } = await asked(world);
      assert.deepEqual(shown, { answer, texts }, `world ${world}`);
      if (world === 0) await assertAccessible(watched, "demo");
    }
    assert.match(
      await page.locator("#result").innerText(),
      /Answer: .+ tokens written and learned from, \d+ read from tools/,
    );
    assert.equal(requests.length, loaded, "nothing was requested while it answered");
    assert.deepEqual([watched.errors, watched.foreign], [[], []]);
    await page.close();
  });
});
