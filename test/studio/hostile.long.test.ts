/**
 * Hostile text in every field of every file: markup that would run, signs that reorder text, ids that look like paths, and
 * an observation of 10 MB. On every screen, and in the export, nothing of it runs, nothing breaks, nothing is asked of
 * another machine; and no secret is in the export.
 */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { exportStudio } from "../../src/studio/api/export-studio.ts";
import { type Studio, serveStudio } from "../../src/studio/api/serve-studio.ts";
import { launchBrowser, longest, noBrowser, openPage, visit, type WatchedPage } from "./studio-browser.ts";
import { studioWorkspace } from "./studio-workspace.ts";

const hostile = `</pre></script><script>globalThis.hacked=1</script><img src=x onerror="globalThis.hacked=1"><svg onload=hacked=1>\u202edevil\u2066 ../../'"\`\${hacked=1} javascript:hacked=1 &amp; \u0000\ud800`;
const secret = "sk-proj-Zx81mQp04LkWv7TnB2sYd9Hc3RfUa6Ej5GoN";

/** Fields whose words are fixed by their schema, or that others refer to by hash. */
const fixed = new Set(["by", "topology", "move", "finish", "kind", "input", "language", "version", "reason", "source"]);

/** The same value with hostile text behind every string. Deterministic, so that ids still refer to each other. */
function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return value + hostile;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (typeof value !== "object" || value === null) return value;
  const isMessage = "content" in value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (fixed.has(name) && key !== "leftOut")
        return [name, name === "source" && typeof inner === "object" ? poisonedSource(inner) : inner];
      return [name, isMessage && name === "role" ? inner : poisoned(inner, name)];
    }),
  );
}

function poisonedSource(source: unknown): unknown {
  const { kind, id } = source as { kind: string; id?: string };
  return { kind, ...(id !== undefined && { id: id + hostile }) };
}

async function poisonFile(path: string): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  await writeFile(path, lines.map((line) => `${JSON.stringify(poisoned(JSON.parse(line)))}\n`).join(""));
}

describe("hostile text", { skip: noBrowser }, () => {
  let folder: string;
  let studio: Studio;
  let browser: Browser;

  before(async () => {
    folder = await studioWorkspace(12);
    for (const name of ["team/runs.jsonl", "team/tasks.jsonl", "distill/outcomes.jsonl", "dataset/examples.jsonl"])
      await poisonFile(join(folder, name));
    const chains = join(folder, "distill", "trajectories.jsonl");
    await poisonFile(chains);
    const [first, ...others] = (await readFile(chains, "utf8")).split("\n");
    const large = JSON.parse(first!) as { segments: { by: string; text: string }[]; answer: string };
    large.segments.find(({ by }) => by === "tool")!.text =
      `${secret} ${hostile.repeat(Math.ceil(10e6 / hostile.length))}`;
    large.answer = `the key is ${secret}`;
    await writeFile(chains, [JSON.stringify(large), ...others].join("\n"));
    const manifest = JSON.parse(await readFile(join(folder, "distill", "manifest.json"), "utf8"));
    manifest.progress.figures = { [hostile]: hostile };
    await writeFile(join(folder, "distill", "manifest.json"), JSON.stringify(manifest));
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.index.ready();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await studio?.close();
    await rm(folder, { recursive: true });
  });

  const first = (kind: "run" | "chain") =>
    encodeURIComponent(
      studio.context.items.page({ kind }, { by: "order", down: false }, 0, 1).rows[0]!.key.replace(/\ud800/g, "\ufffd"),
    );

  const screens = (): [route: string, selector: string][] => [
    ["/", ".card"],
    ["/runs", ".item"],
    ["/chains", ".item"],
    [`/runs/${first("run")}`, ".gantt-bar, .problem"],
    [`/chains/${first("chain")}`, ".segment"],
    ["/distill", ".funnel-stages"],
    ["/datasets", ".example"],
  ];

  async function assertNothingRan(page: Page, name: string): Promise<void> {
    assert.equal(await page.evaluate("globalThis.hacked"), undefined, name);
    assert.equal(await page.locator("#app img, #app iframe, #app object, #app a[href^='javascript']").count(), 0, name);
  }

  it("runs nowhere and breaks nothing in the studio", async () => {
    const watched: WatchedPage = await openPage(browser, studio);
    for (const [route, selector] of screens()) {
      await visit(watched, route, selector);
      await assertNothingRan(watched.page, route);
    }
    await visit(watched, `/chains/${first("chain")}?at=seg-0`, ".row-detail");
    const segments = await watched.page.locator(".segment").count();
    for (let index = 0; index < segments; index++) {
      await watched.page.keyboard.press("l");
      await watched.page.waitForSelector(`[data-segment="${Math.min(index + 1, segments - 1)}"].open`);
    }
    assert.ok((await watched.page.content()).length < 5e6, "a long text is not loaded whole");
    await assertNothingRan(watched.page, "segments");
    assert.deepEqual(watched.foreign, []);
    assert.deepEqual(watched.errors, []);
  });

  it("runs nowhere in the export, which opens from a file and holds no secret", async () => {
    const out = join(await mkdtemp(join(tmpdir(), "coa-export-")), "share");
    const report = await exportStudio(studio.context, {
      out,
      lists: ["kind=run", "kind=chain", "kind=example"],
      limit: 50,
    });
    assert.ok(report.chains > 0 && report.runs > 0);
    for (const file of await readdir(join(out, "data"))) {
      assert.ok(!(await readFile(join(out, "data", file), "utf8")).includes(secret), `${file} holds the secret`);
    }
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(longest);
    const [foreign, errors]: string[][] = [[], []];
    page.on(
      "request",
      (request) =>
        request.url().startsWith("file:") || request.url().startsWith("data:") || foreign!.push(request.url()),
    );
    page.on("pageerror", (error) => errors!.push(error.message));
    await page.goto(pathToFileURL(join(out, "index.html")).href);
    for (const [route, selector] of screens()) {
      await page.evaluate(`location.hash = ${JSON.stringify(`#${route}`)}`);
      await page.waitForSelector(selector);
      await assertNothingRan(page, route);
    }
    assert.deepEqual(foreign, []);
    assert.deepEqual(errors, []);
    await rm(join(out, ".."), { recursive: true });
  });
});
