/**
 * Chains that continue after their page has disconnected. Their events are kept while they run and for a while after, so that
 * a stream can be resumed at any event.
 */
import { refusalOf } from "../base/http/refusal.ts";
import { followableLog } from "../base/work/followable-log.ts";

const keptMs = 10 * 60_000;

/** One run. */
export interface BackgroundRun {
  readonly ended: boolean;
  /** Resolves when it has ended, however. */
  readonly work: Promise<void>;
  /** Its events from the one with this number on, to the end. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<unknown>;
  cancel(): Promise<void>;
}

/** All runs of a server. */
export interface BackgroundRuns {
  start(
    id: string,
    caller: string,
    /** The events; where they fail, `fail` has the last. */
    reply: { events(signal: AbortSignal): AsyncIterable<unknown>; fail(message: string): unknown[] },
    /** `unreadMs`: stop it when it has had no reader for so long. */
    options?: { unreadMs?: number },
  ): BackgroundRun;
  find(id: string, caller: string): BackgroundRun | undefined;
  /** Waits until all have ended; those that still run when the signal aborts are stopped. */
  settle(signal: AbortSignal): Promise<void>;
}

/** A server without runs. */
export function backgroundRuns(): BackgroundRuns {
  const runs = new Map<string, { caller: string; run: BackgroundRun }>();
  return {
    find(id, caller) {
      const found = runs.get(id);
      return found?.caller === caller ? found.run : undefined;
    },
    async settle(signal) {
      const under = [...runs.values()].filter(({ run }) => !run.ended);
      const stop = () => under.forEach(({ run }) => void run.cancel());
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.all(under.map(({ run }) => run.work));
      signal.removeEventListener("abort", stop);
    },
    start(id, caller, reply, { unreadMs } = {}) {
      const controller = new AbortController();
      const log = followableLog<unknown>();
      let cancelled = false;
      let followers = 0;
      let unread: NodeJS.Timeout | undefined;
      const work = (async () => {
        try {
          for await (const event of reply.events(controller.signal)) log.append(event);
        } catch (error) {
          if (!cancelled) log.append(...reply.fail(refusalOf(error).message));
        } finally {
          log.end();
          clearTimeout(unread);
          setTimeout(() => runs.get(id)?.run === run && runs.delete(id), keptMs).unref();
        }
      })();
      const run: BackgroundRun = {
        work,
        get ended() {
          return log.ended;
        },
        async *follow(from, signal) {
          followers++;
          clearTimeout(unread);
          try {
            yield* log.follow(from, signal);
          } finally {
            if (--followers === 0 && unreadMs !== undefined && !log.ended)
              unread = setTimeout(() => void run.cancel(), unreadMs).unref();
          }
        },
        async cancel() {
          cancelled = !log.ended;
          controller.abort(new DOMException("cancelled", "AbortError"));
          await work;
        },
      };
      runs.set(id, { caller, run });
      return run;
    },
  };
}
