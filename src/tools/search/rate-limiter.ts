/** Spaces calls so that no more than a given number start per second, in the order they came. */
import { setTimeout as pause } from "node:timers/promises";

/** Waits for the next free place; resolves when the caller may start. */
export type RateLimiter = (signal: AbortSignal) => Promise<void>;

const systemClock = {
  now: () => performance.now(),
  sleep: (ms: number, signal: AbortSignal) => pause(ms, undefined, { signal }),
};

/** A limiter of `perSecond` starts per second; bursts of one second's worth pass at once. */
export function rateLimiter(
  perSecond: number,
  clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<unknown> } = systemClock,
): RateLimiter {
  const interval = 1000 / perSecond;
  const burst = Math.max(1, Math.floor(perSecond));
  let next = Number.NEGATIVE_INFINITY; // when the bucket would be full again, minus the burst
  return async (signal) => {
    const time = clock.now();
    next = Math.max(next + interval, time - (burst - 1) * interval);
    const wait = next - time;
    if (wait > 0) await clock.sleep(wait, signal);
  };
}
