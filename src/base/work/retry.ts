/**
 * Trying again: what may work the next time is repeated after growing, random pauses, or when the server says. One
 * definition for model servers, search services, sandboxes and judges.
 */
import { CoaError } from "../../core/errors.ts";
import { sleep } from "./limiter.ts";

export interface RetryOptions {
  /** Tries after the first. */
  retries?: number;
  /** Longest pause before the first repeat; doubled each time. */
  retryDelayMs?: number;
  maxRetryDelayMs?: number;
  /** 0 to 1; for tests. */
  random?: () => number;
}

const longestAskedMs = 120_000;

/** How long to wait before the next try: as long as the server asked, or a random, growing time. */
export function retryDelay(tries: number, error: unknown, options: RetryOptions = {}): number {
  const { retryDelayMs = 500, maxRetryDelayMs = 30_000, random = Math.random } = options;
  // Full jitter: a thousand clients that failed together do not come back together.
  const jitter = Math.min(maxRetryDelayMs, retryDelayMs * 2 ** tries) * random();
  const asked = (error as { retryAfterMs?: number } | undefined)?.retryAfterMs;
  return asked === undefined ? jitter : Math.min(asked, longestAskedMs) + jitter * 0.1;
}

/** Runs `attempt` until it works, fails for good (an error that is not `retryable`), or the tries are used up. */
export async function retry<T>(
  attempt: (tries: number) => Promise<T>,
  options: RetryOptions & { signal?: AbortSignal } = {},
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt(tries);
    } catch (error) {
      if (!(error instanceof CoaError) || !error.retryable || tries >= (options.retries ?? 5)) throw error;
      await sleep(retryDelay(tries, error, options), options.signal);
    }
  }
}

/** `Retry-After` as servers write it: milliseconds in a header of their own, seconds, or a date. */
export function retryAfterMs(header: (name: string) => string | null | undefined): number | undefined {
  const milliseconds = header("retry-after-ms");
  if (milliseconds && Number(milliseconds) >= 0) return Number(milliseconds);
  const seconds = header("retry-after");
  if (!seconds) return undefined;
  if (Number(seconds) >= 0) return Number(seconds) * 1000;
  const date = Date.parse(seconds);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
