/**
 * Chains of pages, which continue for a while when their page has disconnected. Their events are kept while they run, so that
 * a stream can be resumed from its beginning.
 */
import { followableLog } from "../base/work/followable-log.ts";
import type { Emit } from "./send-reply.ts";

/** How long a chain continues without a reader. */
const unreadMs = 30_000;

export interface BackgroundRun {
  readonly ended: boolean;
  /** Tells its events from the first to the last. */
  follow(signal: AbortSignal, emit: Emit): Promise<void>;
}

export type BackgroundRuns = ReturnType<typeof backgroundRuns>;

/** A server without runs. */
export function backgroundRuns() {
  const runs = new Map<string, BackgroundRun & { work: Promise<void>; stop(): void }>();
  return {
    find: (id: string): BackgroundRun | undefined => runs.get(id),
    /** Waits until all have ended; those that still run when the signal aborts are stopped. */
    async settle(signal: AbortSignal): Promise<void> {
      const under = [...runs.values()];
      const stop = () => under.forEach((run) => void run.stop());
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.all(under.map(({ work }) => work));
    },
    start(id: string, events: (signal: AbortSignal, emit: Emit) => Promise<void>): BackgroundRun {
      const controller = new AbortController();
      const log = followableLog<unknown>();
      let followers = 0;
      let unread: NodeJS.Timeout | undefined;
      const stop = () => controller.abort(new DOMException("cancelled", "AbortError"));
      const work = (async () => {
        await events(controller.signal, (some) => void log.append(...some));
        log.end();
        clearTimeout(unread);
      })();
      const run = {
        work,
        stop,
        get ended() {
          return log.ended;
        },
        async follow(signal: AbortSignal, emit: Emit) {
          followers++;
          clearTimeout(unread);
          try {
            await log.follow(emit, signal);
          } finally {
            if (--followers === 0 && !log.ended) unread = setTimeout(stop, unreadMs).unref();
          }
        },
      };
      runs.set(id, run);
      const forget = () => runs.get(id) === run && runs.delete(id);
      work.then(forget, forget);
      return run;
    },
  };
}
