/**
 * Slow extraction in a thread of its own: trees of large pages and PDF files take tens or hundreds of milliseconds, and
 * a hostile page may take forever. The event loop stays free, memory is capped (a PDF of 1 MB can unpack to gigabytes
 * outside the heap, so the whole process is watched), and a page that is not done in time ends its thread, not the
 * process. The thread starts with the first such page, ends when idle, and keeps nothing alive.
 */
import { Worker } from "node:worker_threads";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { MarkdownOptions } from "./html-to-markdown.ts";

export type ExtractionJob =
  | { kind: "article"; html: string; options: MarkdownOptions }
  | { kind: "pdf"; bytes: Uint8Array };

/** What Readability found. */
export interface ReadArticle {
  title: string;
  markdown: string;
  /** Of text, Markdown's own marks not counted. */
  characters: number;
}

export interface ReadPdf {
  title: string;
  pages: string[];
}

export type ExtractionReply = { result: ReadArticle | ReadPdf | undefined } | { error: string };

interface Queued {
  job: ExtractionJob;
  deadlineMs: number;
  resolve(result: ReadArticle | ReadPdf | undefined): void;
  reject(error: unknown): void;
}

const idleMs = 30_000;
const heapMb = 384;
/** How much the process may grow while one page is read. */
const growthMb = 512;
const memoryCheckMs = 25;
const queue: Queued[] = [];
let worker: Worker | undefined;
let running: Queued | undefined;
let timer: NodeJS.Timeout | undefined;
let watch: NodeJS.Timeout | undefined;

/** Does one job in the thread, after those before it; the deadline counts from its own start. */
export function inExtractionThread(
  job: ExtractionJob,
  deadlineMs = 15_000,
): Promise<ReadArticle | ReadPdf | undefined> {
  return new Promise((resolve, reject) => {
    queue.push({ job, deadlineMs, resolve, reject });
    advance();
  });
}

function advance(): void {
  if (running) return;
  clearTimeout(timer);
  clearInterval(watch);
  running = queue.shift();
  if (!running) {
    worker?.unref();
    timer = setTimeout(stop, idleMs, "idle").unref();
    return;
  }
  worker ??= start();
  worker.ref();
  timer = setTimeout(stop, running.deadlineMs, `not done after ${running.deadlineMs} ms`);
  const before = process.memoryUsage.rss();
  watch = setInterval(() => {
    const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
    if (grown > growthMb) stop(`it takes more than ${growthMb} MB`);
  }, memoryCheckMs);
  worker.postMessage(running.job);
}

function start(): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const started = new Worker(new URL(`./extraction-worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  started.on("message", (reply: ExtractionReply) => {
    if (worker !== started) return;
    const job = running;
    running = undefined;
    if ("error" in reply) job?.reject(new Error(reply.error));
    else job?.resolve(reply.result);
    advance();
  });
  started.on("error", (error) => worker === started && stop(messageOf(error)));
  return started;
}

/** Ends the thread; the job it was doing fails, the next ones get a new thread. */
function stop(reason: string): void {
  clearTimeout(timer);
  clearInterval(watch);
  const job = running;
  running = undefined;
  void worker?.terminate();
  worker = undefined;
  job?.reject(new CoaError("tool", `the page could not be extracted: ${reason}`));
  if (queue.length > 0) advance();
}
