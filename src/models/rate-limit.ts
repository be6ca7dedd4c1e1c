/** Keeps within what a server allows: so many calls at once, so many per minute. Waiting calls go in the order they came. */
import type { ChatModel, Model } from "../core/model.ts";

export interface RateLimit {
  concurrency?: number;
  requestsPerMinute?: number;
}

export interface RateLimitOptions extends RateLimit {
  now?: () => number;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Waits for a turn and returns what gives it back. */
export type TakeTurn = (signal?: AbortSignal) => Promise<() => void>;

/** A limiter shared by all models that talk to one server. */
export function rateLimiter(options: RateLimitOptions): TakeTurn {
  const { concurrency = Number.POSITIVE_INFINITY, requestsPerMinute, now = Date.now, sleep = sleepFor } = options;
  const gapMs = requestsPerMinute ? 60_000 / requestsPerMinute : 0;
  const waiting: (() => void)[] = [];
  let active = 0;
  let nextAt = 0;
  return async (signal) => {
    signal?.throwIfAborted();
    if (active >= concurrency) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const turn = () => resolve();
      waiting.push(turn);
      signal?.addEventListener(
        "abort",
        () => {
          const at = waiting.indexOf(turn);
          if (at >= 0) waiting.splice(at, 1);
          reject(signal.reason);
        },
        { once: true },
      );
      await promise; // whoever finished handed over its place: `active` stays
    } else active++;
    const giveBack = once(() => {
      const next = waiting.shift();
      if (next) next();
      else active--;
    });
    try {
      const start = Math.max(now(), nextAt);
      nextAt = start + gapMs;
      if (start > now()) await sleep(start - now(), signal);
    } catch (error) {
      giveBack();
      throw error;
    }
    return giveBack;
  };
}

/** A model that waits for its turn before every call. */
export function limitedModel(model: Model, takeTurn: TakeTurn): Model {
  return {
    ...model,
    name: model.name,
    capabilities: model.capabilities,
    async *continue(request) {
      const giveBack = await takeTurn(request.signal);
      try {
        yield* model.continue(request);
      } finally {
        giveBack();
      }
    },
  };
}

/** A chat model that waits for its turn before every call. */
export function limitedChatModel(model: ChatModel, takeTurn: TakeTurn): ChatModel {
  return {
    ...model,
    name: model.name,
    async chat(request) {
      const giveBack = await takeTurn(request.signal);
      try {
        return await model.chat(request);
      } finally {
        giveBack();
      }
    },
  };
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener(
    "abort",
    () => {
      clearTimeout(timer);
      reject(signal.reason);
    },
    { once: true },
  );
  return promise;
}
