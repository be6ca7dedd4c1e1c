/** Waiting with an end: what is not there in time is not waited for, and continues. */

/** The value of a promise, or undefined if it is not there after so many milliseconds or when the signal aborts. */
export async function within<T>(milliseconds: number, work: Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const leave = () => late.resolve(undefined);
  if (signal?.aborted) leave();
  signal?.addEventListener("abort", leave, { once: true });
  // Timers can't wait longer than 2^31-1 ms.
  const timer = Number.isFinite(milliseconds) ? setTimeout(leave, Math.min(milliseconds, 2 ** 31 - 1)) : undefined;
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
