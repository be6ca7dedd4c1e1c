/**
 * The studio over 100,000 trajectories (440 MB): how long the index takes, what a page, facets, a search and a chain cost,
 * how the browser scrolls and shows 8,192 tokens, and what a live update moves. First screen and first rows are wall time
 * (the load is printed beside them); everything else is processor time. COA_STUDIO_ITEMS makes it smaller.
 */
import { appendFile, mkdtemp, open, rm, stat, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { CDPSession, Page } from "playwright-core";
import type { Figure } from "../scripts/bench.ts";
import { emptyUsage } from "../src/core/usage.ts";
import { loadAppFiles } from "../src/studio/api/app-files.ts";
import { readBeside } from "../src/studio/api/beside-reader.ts";
import { openCatalogDatabase } from "../src/studio/api/catalog-database.ts";
import { fileCataloguer } from "../src/studio/api/catalog-file.ts";
import { serveStudio } from "../src/studio/api/serve-studio.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";
import { launchBrowser, noBrowser, openPage, until, visit } from "../test/studio/studio-browser.ts";

const items = Number(process.env["COA_STUDIO_ITEMS"] ?? 100_000);
const words =
  "river mayor founding city length staff bridge archive harbour station market tower garden museum school".split(" ");

/** One trajectory of about 4.4 kB with ids and log-probabilities; the same number always gives the same one. */
function trajectory(number: number): string {
  let state = number * 2654435761 + 1;
  const random = (below: number) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % below;
  const text = (count: number) =>
    Array.from({ length: count }, () => words[random(words.length)]! + (random(40) === 0 ? random(5000) : "")).join(
      " ",
    );
  const segments = Array.from({ length: 8 }, (_, index) => {
    const by = index % 3 === 2 ? "tool" : "model";
    const tokens = Array.from({ length: 16 }, () => random(700));
    const logprobs = tokens.map(() => -random(1000) / 1000);
    return {
      tag: index === 7 ? "answer" : by === "tool" ? "observation" : "think",
      text: text(by === "tool" ? 90 : 24),
      by,
      tokens,
      ...(by === "model" && { logprobs }),
    };
  });
  const ending = { reason: random(20) === 0 ? "limit" : "answered" };
  const prompt = [{ role: "user", content: `What is the ${text(3)} of place ${number}?` }];
  const about = {
    id: `chain-${number}`,
    taskId: `task-${number % 5000}`,
    family: `hop${number % 4}`,
    profile: "lab",
    model: `model-${number % 3}`,
  };
  return `${JSON.stringify({ version: 1, ...about, prompt, segments, answer: text(1), ending, usage: { ...emptyUsage(), billedTokens: random(9000) }, violations: [], reward: random(2) })}\n`;
}

/** A chain of 8,192 tokens for the token view: as many segments of 32 tokens. */
async function longChain(): Promise<string> {
  const tokenizer = await loadTokenizer(join(import.meta.dirname, "..", "weights", "afm-lab-2m"));
  const [ids] = [tokenizer.encode(" the staff is 24 and the mayor of the city is here now").slice(0, 30)];
  const think = (tag: string) => tokenizer.encodeWithSpecials(tag);
  const tokens = [...think("<think>"), ...ids, ...think("</think>")].slice(0, 32);
  const segment = {
    tag: "think",
    text: tokenizer.decode(ids),
    by: "model",
    raw: tokenizer.decode(tokens),
    tokens,
    logprobs: tokens.map((_, index) => -index / 20),
  };
  const segments = Array.from({ length: Math.ceil(8192 / tokens.length) }, () => segment);
  const prompt = [{ role: "user", content: "long" }];
  return `${JSON.stringify({ version: 1, id: "long", taskId: "long", profile: "lab", model: "m", prompt, segments, answer: null, ending: { reason: "limit" }, usage: emptyUsage(), violations: [] })}\n`;
}

/** Processor milliseconds of this thread for some work, as the mean of many: the system's clock of a thread is coarse. */
async function processorMs(work: () => unknown, tries = 40): Promise<number> {
  const before = process.threadCpuUsage();
  for (let index = 0; index < tries; index++) await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000 / tries;
}

export default async function bench(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-studio-"));
  const figures: Figure[] = [];
  const add = (name: string, value: number, unit: string, most: number) =>
    figures.push({ name, value, unit, target: `at most ${most} ${unit}`, met: value <= most });
  try {
    const file = join(folder, "chains.jsonl");
    const handle = await open(file, "w");
    for (let from = 0; from < items; from += 1000) {
      await handle.write(
        Array.from({ length: Math.min(1000, items - from) }, (_, index) => trajectory(from + index)).join(""),
      );
    }
    await handle.close();
    await writeFile(join(folder, "long.jsonl"), await longChain());
    await writeFile(join(folder, "metrics.jsonl"), '{"step":1,"loss":1}\n');
    const { size, mtimeMs: mtime } = await stat(file);
    figures.push({ name: "trajectories", value: items, unit: `(${Math.round(size / 1e6)} MB)` });
    const database = openCatalogDatabase(join(folder, "alone.db"));
    const indexer = fileCataloguer(database);
    add("index with text", (await processorMs(() => indexer.update({ path: file, size, mtime }), 1)) / 1000, "s", 10);
    database.close();
    const app = await loadAppFiles();
    const packed = [...app.values()].reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0);
    add("bundle, packed", packed / 1000, "kB", 150);
    if (noBrowser === false) await inBrowser(folder, add);
    else figures.push({ name: noBrowser, value: 0, unit: "" });
  } finally {
    await rm(folder, { recursive: true });
  }
  return figures;
}

type Add = (name: string, value: number, unit: string, most: number) => void;

async function inBrowser(folder: string, add: Add): Promise<void> {
  const browser = await launchBrowser();
  const studio = await serveStudio({
    paths: [folder, join(import.meta.dirname, "..", "weights", "afm-lab-2m")],
    home: folder,
  });
  try {
    const load = `load ${loadavg()[0]!.toFixed(1)}`;
    let started = performance.now();
    const watched = await openPage(browser, studio, "/");
    await watched.page.waitForSelector("main h1");
    add(`first screen, cold (wall, ${load})`, performance.now() - started, "ms", 1000);
    started = performance.now();
    await visit(watched, "/chains", ".item");
    add(`first rows, cold (wall, ${load})`, performance.now() - started, "ms", 1500);
    await studio.context.catalog.ready();
    await queries(studio.context, add);
    const { page } = watched;
    const session = await page.context().newCDPSession(page);
    // Task durations in processor time of the main thread, not by the clock.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await until(watched, `document.querySelectorAll(".item").length > 10 && !document.querySelector(".indexing")`);
    await scrolling(page, session, add);
    const before = await mainThreadMs(session);
    await visit(watched, "/chains/long/tokens", ".token-block .t");
    add("8,192 tokens shown", (await mainThreadMs(session)) - before, "ms", 150);
    await liveUpdate(folder, studio, add);
  } finally {
    await browser.close();
    await studio.close();
  }
}

async function queries(context: Parameters<typeof readBeside>[1], add: Add): Promise<void> {
  const { items: lists } = context;
  const inOrder = { by: "order", down: false } as const;
  lists.page({ kind: "chain" }, inOrder, 1, 1);
  add(
    "page of 100 at 50 %",
    await processorMs(() => lists.page({ kind: "chain" }, inOrder, Math.floor(items / 2), 100)),
    "ms",
    20,
  );
  add(
    "page of 100, filtered and sorted",
    await processorMs(() =>
      lists.page({ kind: "chain", values: { system: ["model-1"] } }, { by: "tokens", down: true }, 0, 100),
    ),
    "ms",
    20,
  );
  let try_ = 0;
  add(
    "facets of a new search",
    await processorMs(() => lists.facets({ kind: "chain", q: `bridge${++try_ * 37}` })),
    "ms",
    100,
  );
  add(
    "facets with a choice",
    await processorMs(() => lists.facets({ kind: "chain", values: { system: ["model-1"] } })),
    "ms",
    100,
  );
  add(
    "full text, one rare word",
    await processorMs(() => lists.page({ kind: "chain", q: `river${1000 + ++try_}` }, inOrder, 0, 100)),
    "ms",
    50,
  );
  add(
    "full text, two words",
    await processorMs(() => lists.page({ kind: "chain", q: `harbour museum${100 + ++try_}` }, inOrder, 0, 100)),
    "ms",
    50,
  );
  add(
    "open a chain",
    await processorMs(() => readBeside(new URLSearchParams({ chain: `chain-${(++try_ * 97) % items}` }), context)),
    "ms",
    50,
  );
}

/** Processor time of the page's main thread so far. */
async function mainThreadMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
}

async function scrolling(page: Page, session: CDPSession, add: Add): Promise<void> {
  const frames = 120;
  const before = await mainThreadMs(session);
  const rows = (await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".virtual");
    let frame = 0, most = 0;
    const next = () => {
      list.scrollTop += 400;
      most = Math.max(most, document.querySelectorAll(".virtual-row").length);
      if (++frame < ${frames}) requestAnimationFrame(next); else resolve(most);
    };
    requestAnimationFrame(next);
  })`)) as number;
  add("main-thread work per frame of scrolling", ((await mainThreadMs(session)) - before) / frames, "ms", 8);
  add("rows in the page", rows, "rows", 80);
}

async function liveUpdate(folder: string, studio: Awaited<ReturnType<typeof serveStudio>>, add: Add): Promise<void> {
  const seen = Promise.withResolvers<string>();
  const stop = studio.context.catalog.onEvent(
    (event) => event.type === "file" && event.path.endsWith("metrics.jsonl") && seen.resolve(JSON.stringify(event)),
  );
  const figures = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`figure${index}`, Math.PI * index]));
  await appendFile(join(folder, "metrics.jsonl"), `${JSON.stringify({ step: 2, ...figures })}\n`);
  const event = await seen.promise;
  stop();
  const file = studio.context.catalog
    .files()
    .find(({ path }) => path.endsWith("metrics.jsonl"))!
    .path.slice(studio.context.root.length + 1);
  const response = await fetch(`${studio.origin}/api/lines?${new URLSearchParams({ file, from: "20" })}`, {
    headers: { authorization: `Bearer ${studio.token}` },
  });
  add("a live update moves", (event.length + (await response.text()).length) / 1000, "kB", 10);
}
