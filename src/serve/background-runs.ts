/**
 * Chains of pages, which continue for a while when their page has disconnected. Their events are kept while they run and for a
 * while after, so that a stream can be resumed from its beginning.
 */
import { followableLog } from "../base/work/followable-log.ts";

const keptMs = 10 * 60_000;
/** How long a chain continues without a reader. */
const unreadMs = 30_000;

/** One run. */
export interface BackgroundRun {
  readonly ended: boolean;
  /** Its events from the first to the last. */
  follow(signal: AbortSignal): AsyncGenerator<unknown>;
}

/** All runs of a server. */
export type BackgroundRuns = ReturnType<typeof backgroundRuns>;

/** A server without runs. */
export function backgroundRuns() {
  const runs = new Map<string, BackgroundRun & { work: Promise<void>; stop(): void }>();
  return {
    find: (id: string): BackgroundRun | undefined => runs.get(id),
    /** Waits until all have ended; those that still run when the signal aborts are stopped. */
    async settle(signal: AbortSignal): Promise<void> {
      const under = [...runs.values()].filter(({ ended }) => !ended);
      const stop = () => under.forEach((run) => void run.stop());
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.all(under.map(({ work }) => work));
    },
    start(id: string, events: (signal: AbortSignal) => AsyncIterable<unknown>): BackgroundRun {
      const controller = new AbortController();
      const log = followableLog<unknown>();
      let followers = 0;
      let unread: NodeJS.Timeout | undefined;
      const stop = () => controller.abort(new DOMException("cancelled", "AbortError"));
      const work = (async () => {
        for await (const event of events(controller.signal)) log.append(event);
        log.end();
        clearTimeout(unread);
        setTimeout(() => runs.get(id) === run && runs.delete(id), keptMs).unref();
      })();
      const run = {
        work,
        stop,
        get ended() {
          return log.ended;
        },
        async *follow(signal: AbortSignal) {
          followers++;
          clearTimeout(unread);
          try {
            yield* log.follow(0, signal);
          } finally {
            if (--followers === 0 && !log.ended) unread = setTimeout(stop, unreadMs).unref();
          }
        },
      };
      runs.set(id, run);
      return run;
    },
  };
}
