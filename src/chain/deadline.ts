/** Work with an end: it gets a signal, and whoever waits for it is freed at the deadline even if the signal is ignored. */

/** Thrown at the deadline; unlike an abort by the caller it is an outcome, not a request to stop everything. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Runs `work` for at most `milliseconds`; aborts of `parent` are passed on. */
export async function withDeadline<T>(
  parent: AbortSignal | undefined,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  parent?.throwIfAborted();
  const controller = new AbortController();
  let free: (reason: unknown) => void = () => {};
  const freed = new Promise<never>((_, reject) => {
    free = reject;
  });
  const stop = (reason: unknown) => {
    free(reason);
    controller.abort(reason);
  };
  const onAbort = () => stop(parent?.reason);
  parent?.addEventListener("abort", onAbort, { once: true });
  const timer = startTimer(milliseconds, stop);
  try {
    return await Promise.race([freed, (async () => work(controller.signal))()]);
  } finally {
    clearTimeout(timer);
    parent?.removeEventListener("abort", onAbort);
  }
}

/** Iterates over what `make` returns, with the same promise: at the deadline or at an abort the iteration ends by throwing. */
export function iterateWithDeadline<T>(
  parent: AbortSignal | undefined,
  milliseconds: number,
  make: (signal: AbortSignal | undefined) => AsyncIterable<T>,
): AsyncIterable<T> {
  return !parent && !Number.isFinite(milliseconds) ? make(undefined) : guarded(parent, milliseconds, make);
}

async function* guarded<T>(
  parent: AbortSignal | undefined,
  milliseconds: number,
  make: (signal: AbortSignal | undefined) => AsyncIterable<T>,
): AsyncGenerator<T> {
  parent?.throwIfAborted();
  const controller = new AbortController();
  let free: (reason: unknown) => void = () => {};
  const freed = new Promise<never>((_, reject) => {
    free = reject;
  });
  freed.catch(() => {});
  const stop = (reason: unknown) => {
    free(reason);
    controller.abort(reason);
  };
  const onAbort = () => stop(parent?.reason);
  parent?.addEventListener("abort", onAbort, { once: true });
  const timer = startTimer(milliseconds, stop);
  const iterator = make(controller.signal)[Symbol.asyncIterator]();
  let done = false;
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), freed]);
      if (next.done) {
        done = true;
        return;
      }
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    parent?.removeEventListener("abort", onAbort);
    if (!done) {
      controller.abort();
      // Not awaited: an iterator that hangs would hang its caller too.
      iterator.return?.().catch(() => {});
    }
  }
}

function startTimer(milliseconds: number, stop: (reason: unknown) => void): NodeJS.Timeout | undefined {
  if (!Number.isFinite(milliseconds)) return undefined;
  // Timers cannot wait longer than 2^31-1 ms.
  return setTimeout(
    () => stop(new DeadlineError(`no result after ${Math.round(milliseconds)} ms`)),
    Math.min(milliseconds, 2_147_483_647),
  );
}
