/**
 * Bounded work: so many at once (semaphore), so many starts in a time (rate limiter), both together (limiter), and two
 * ways to run many jobs under a bound (a pool with results in order, and results as they end). Waiting calls go in the
 * order of arrival and stop waiting when their signal aborts.
 */

/** Gives a place back; calling it twice does nothing more. */
export type Release = () => void;

/** Waits for a place. */
export interface Limiter {
  acquire(signal?: AbortSignal): Promise<Release>;
}

/** The time source of a limiter; tests pass their own. */
export interface LimiterClock {
  /** Milliseconds. */
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
}

/** Waits that many milliseconds, or rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal?.aborted) return Promise.reject(signal.reason);
  const stop = () => {
    clearTimeout(timer);
    reject(signal!.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", stop);
    resolve();
  }, ms);
  signal?.addEventListener("abort", stop, { once: true });
  return promise;
}

const systemClock: LimiterClock = { now: () => performance.now(), sleep };

/** At most `places` holders at a time, shared fairly: a free place goes to the waiting one that holds the fewest. */
export function semaphore(places: number) {
  // Insertion order is arrival order, and leaving early is cheap.
  const queues = new Map<string, Set<() => void>>();
  const held = new Map<string, number>();
  let all = 0;
  const add = (owner: string, count: 1 | -1) => {
    const now = (held.get(owner) ?? 0) + count;
    if (now > 0) held.set(owner, now);
    else held.delete(owner);
    all += count;
  };
  const take = (owner: string): Release => {
    add(owner, 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      let next: string | undefined; // the place that is given back still counts, so that with one place all take turns
      for (const one of queues.keys())
        if (next === undefined || (held.get(one) ?? 0) < (held.get(next) ?? 0)) next = one;
      add(owner, -1);
      if (next === undefined) return;
      const [first] = queues.get(next)!;
      leave(next, first!);
      first!();
    };
  };
  const leave = (owner: string, resolve: () => void): boolean => {
    const queue = queues.get(owner);
    const left = queue?.delete(resolve) ?? false;
    if (queue?.size === 0) queues.delete(owner);
    else if (left) {
      queues.delete(owner); // others with as few places come first
      queues.set(owner, queue!);
    }
    return left;
  };
  const waiting = () => queues.values().reduce((sum, { size }) => sum + size, 0);
  return {
    get held() {
      return all;
    },
    get waiting() {
      return waiting();
    },
    /** How many may wait for this owner where `most` may wait in all: an equal part for each that waits. */
    shareOf(owner: string, most: number) {
      const own = queues.get(owner)?.size ?? 0;
      return { waiting: own, share: most / (queues.size + (own === 0 ? 1 : 0)) };
    },
    async acquire(signal?: AbortSignal, owner = ""): Promise<Release> {
      signal?.throwIfAborted();
      if (all < places) return take(owner);
      const { promise, resolve, reject } = Promise.withResolvers<Release>();
      const go = () => resolve(take(owner)); // at once, so that the place is never free in between
      const abort = () => {
        if (leave(owner, go)) reject(signal!.reason);
      };
      queues.set(owner, (queues.get(owner) ?? new Set()).add(go));
      signal?.addEventListener("abort", abort, { once: true });
      try {
        return await promise;
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
  };
}

/** Spaces starts in time, in the order of arrival; `burst` starts may come at once after a quiet time. */
export function rateLimiter(rate: { perSecond: number; burst?: number }, clock: LimiterClock = systemClock) {
  const intervalMs = 1000 / rate.perSecond;
  const burst = Math.max(1, Math.floor(rate.burst ?? 1));
  let next = Number.NEGATIVE_INFINITY; // when the last start of the schedule is due
  return async (signal?: AbortSignal) => {
    const time = clock.now();
    next = Math.max(next + intervalMs, time - (burst - 1) * intervalMs);
    if (next > time) await clock.sleep(next - time, signal);
  };
}

/** Both bounds at once, for example of all models that talk to one server; each is open by default. */
export function limiter(options: { concurrency?: number; requestsPerMinute?: number; clock?: LimiterClock }): Limiter {
  const places = semaphore(options.concurrency ?? Number.POSITIVE_INFINITY);
  const { requestsPerMinute } = options;
  const start = requestsPerMinute ? rateLimiter({ perSecond: requestsPerMinute / 60 }, options.clock) : undefined;
  return {
    async acquire(signal) {
      const release = await places.acquire(signal);
      try {
        await start?.(signal);
      } catch (error) {
        release();
        throw error;
      }
      return release;
    },
  };
}

/**
 * Runs a job for each item, so many at a time, and returns the results in the order of the items. After a failure no new
 * job starts, those under way end, and the first error is thrown.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    while (next < items.length && !failure) {
      const at = next++;
      try {
        results[at] = await work(items[at] as Item, at);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, items.length)) }, worker));
  if (failure) throw failure.error;
  return results;
}

/**
 * Runs a job for each item, so many at a time, and yields each result as it ends. When the reader leaves or a job fails,
 * `stop` is called and what is under way is awaited.
 */
export async function* asTheyEnd<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  options: { concurrency: number; stop?: () => void },
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const live = new Set<Promise<void>>();
  const done: Result[] = [];
  let failure: { error: unknown } | undefined;
  const start = (item: Item): void => {
    const running = work(item)
      .then((result) => void done.push(result))
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        live.delete(running);
        wake();
      });
    live.add(running);
  };
  // Not Promise.race: it would hang one more reaction on a slow job for each quick one.
  let wake = () => {};
  const oneEnds = () => new Promise<void>((resolve) => (wake = resolve));
  function* ended(): Generator<Result> {
    if (failure) throw failure.error;
    while (done.length > 0) yield done.shift()!;
  }
  try {
    for await (const item of items) {
      start(item);
      while (live.size >= options.concurrency) {
        await oneEnds();
        yield* ended();
      }
      yield* ended();
    }
    while (live.size > 0) {
      await oneEnds();
      yield* ended();
    }
    yield* ended();
  } finally {
    options.stop?.();
    await Promise.all(live);
  }
}
