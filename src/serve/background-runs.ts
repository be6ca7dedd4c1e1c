/**
 * Responses that continue after their client has disconnected. Their events are kept while they run and for a while
 * after, so that a stream can be resumed at any event.
 */
import type { Json } from "../core/json-value.ts";
import type { ResponsesProjection } from "./project/responses.ts";

const keptMs = 10 * 60_000;

/** One run. */
export interface BackgroundRun {
  readonly ended: boolean;
  /** Resolves when it has ended, however. */
  readonly work: Promise<void>;
  response(): Json;
  /** Its events from the one with this number on, to the end. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<Json>;
  cancel(): Promise<void>;
}

/** All runs of a server. */
export interface BackgroundRuns {
  start(
    id: string,
    caller: string,
    projection: Pick<ResponsesProjection, "fail" | "response">,
    events: (signal: AbortSignal) => AsyncIterable<Json>,
    /** `unreadMs`: stop it when nobody has followed it for so long. */
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
    start(id, caller, projection, events, { unreadMs } = {}) {
      const controller = new AbortController();
      const kept: Json[] = [];
      const waiting = new Set<() => void>();
      let ended = false;
      let cancelled = false;
      let followers = 0;
      let unread: NodeJS.Timeout | undefined;
      const wake = () => {
        for (const go of waiting) go();
        waiting.clear();
      };
      const work = (async () => {
        try {
          for await (const event of events(controller.signal)) {
            kept.push(event);
            wake();
          }
        } catch (error) {
          if (!cancelled) kept.push(...projection.fail("server_error", (error as Error).message));
        } finally {
          ended = true;
          wake();
          clearTimeout(unread);
          setTimeout(() => runs.get(id)?.run === run && runs.delete(id), keptMs).unref();
        }
      })();
      const run: BackgroundRun = {
        work,
        response: () => ({ ...projection.response(), ...(cancelled && { status: "cancelled" }) }),
        get ended() {
          return ended;
        },
        async *follow(from, signal) {
          followers++;
          clearTimeout(unread);
          signal.addEventListener("abort", wake, { once: true });
          try {
            for (let next = from; ; ) {
              while (next < kept.length) yield kept[next++]!;
              if (ended || signal.aborted) return;
              await new Promise<void>((resolve) => waiting.add(resolve));
            }
          } finally {
            signal.removeEventListener("abort", wake);
            if (--followers === 0 && unreadMs !== undefined && !ended)
              unread = setTimeout(() => void run.cancel(), unreadMs).unref();
          }
        },
        async cancel() {
          cancelled = !ended;
          controller.abort(new DOMException("cancelled", "AbortError"));
          await work;
        },
      };
      runs.set(id, { caller, run });
      return run;
    },
  };
}
