/** Work with an end: it gets a signal, and its caller is freed at the deadline even if the signal is ignored. */

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
  const { promise: freed, reject: free } = Promise.withResolvers<never>();
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

/**
 * Iterates over what `make` returns, with the same guarantee: at the deadline or at an abort the iteration ends by
 * throwing.
 */
export function iterateWithDeadline<T>(
  parent: AbortSignal | undefined,
  milliseconds: number,
  make: (signal: AbortSignal | undefined) => AsyncIterable<T>,
): AsyncIterable<T> {
  return !parent && !Number.isFinite(milliseconds) ? make(undefined) : guarded(parent, milliseconds, make);
}

/**
 * Written without async functions, because it runs for every token. A race against one promise for the whole call would
 * leave a reaction on that promise for each token, until the call ends.
 */
function guarded<T>(
  parent: AbortSignal | undefined,
  milliseconds: number,
  make: (signal: AbortSignal | undefined) => AsyncIterable<T>,
): AsyncIterable<T> {
  const controller = new AbortController();
  let iterator: AsyncIterator<T> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped: { reason: unknown } | undefined;
  let over = false;
  let fail: ((reason: unknown) => void) | undefined;
  const stop = (reason: unknown) => {
    stopped ??= { reason };
    fail?.(reason);
    controller.abort(reason);
  };
  const onAbort = () => stop(parent?.reason);
  function begin(): AsyncIterator<T> {
    parent?.throwIfAborted();
    parent?.addEventListener("abort", onAbort, { once: true });
    timer = startTimer(milliseconds, stop);
    return make(controller.signal)[Symbol.asyncIterator]();
  }
  function end(done: boolean): void {
    if (over) return;
    over = true;
    clearTimeout(timer);
    parent?.removeEventListener("abort", onAbort);
    if (done) return;
    controller.abort();
    // Not awaited: an iterator that hangs would hang its caller too.
    iterator?.return?.().catch(() => {});
  }
  const guardedIterator: AsyncIterator<T> = {
    next: () =>
      new Promise((resolve, reject) => {
        if (over) return resolve({ done: true, value: undefined });
        fail = (reason) => {
          fail = undefined;
          end(false);
          reject(reason);
        };
        try {
          if (stopped) throw stopped.reason;
          iterator ??= begin();
          iterator.next().then((next) => {
            fail = undefined;
            if (next.done) end(true);
            resolve(next);
          }, fail);
        } catch (error) {
          fail(error);
        }
      }),
    async return() {
      end(iterator === undefined);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => guardedIterator };
}

function startTimer(milliseconds: number, stop: (reason: unknown) => void): NodeJS.Timeout | undefined {
  if (!Number.isFinite(milliseconds)) return undefined;
  // Timers cannot wait longer than 2^31-1 ms.
  return setTimeout(
    () => stop(new DeadlineError(`no result after ${Math.round(milliseconds)} ms`)),
    Math.min(milliseconds, 2_147_483_647),
  );
}
