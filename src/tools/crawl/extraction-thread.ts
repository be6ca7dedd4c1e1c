/**
 * Slow extraction in a thread of its own: trees of large pages and PDF files take tens or hundreds of milliseconds, and
 * a hostile page may take forever. The event loop stays free, memory is capped (a PDF of 1 MB can unpack to gigabytes
 * outside the heap, so the whole process is watched), and a page that is not done in time ends its thread, not the
 * process. The thread starts with the first such page, ends when idle, and keeps nothing alive.
 */
import { inOrder } from "../../base/work/in-order.ts";
import { startThread, type Thread } from "../../base/work/thread.ts";
import type { ExtractionCalls } from "./extraction-worker.ts";

const idleMs = 30_000;
const heapMb = 384;
/** How much the process may grow while one page is read. */
const growthMb = 512;
const memoryCheckMs = 25;
const inTurn = inOrder();
let idle: NodeJS.Timeout | undefined;
const thread = startThread<ExtractionCalls>(new URL("./extraction-worker.ts", import.meta.url), {
  name: "extracting the page",
  boundary: "tool",
  restarts: true,
  resourceLimits: { maxOldGenerationSizeMb: heapMb },
});

/**
 * Extracts one page in the thread, after those before it; the deadline counts from its own start. A page that takes too long
 * or too much memory ends the thread and fails; the next one gets a new thread.
 */
export function inExtractionThread<T>(
  extract: (thread: Pick<Thread<ExtractionCalls>, "call">) => Promise<T>,
  deadlineMs = 15_000,
): Promise<T> {
  return inTurn(async () => {
    clearTimeout(idle);
    const stop = (reason: string) => void thread.close(`was stopped: ${reason}`);
    const deadline = setTimeout(stop, deadlineMs, `not done after ${deadlineMs} ms`);
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
      if (grown > growthMb) stop(`it takes more than ${growthMb} MB`);
    }, memoryCheckMs);
    try {
      return await extract(thread);
    } finally {
      clearTimeout(deadline);
      clearInterval(watch);
      idle = setTimeout(() => void thread.close(), idleMs).unref();
    }
  });
}
