/**
 * Waiting for what others do: a notice that wakes all who wait, and a log over it that is kept and can be followed from any
 * place while it is still written.
 */
import { within } from "./within.ts";

/** A notice for which nothing waits. */
export function notice() {
  const waiting = new Set<() => void>();
  return {
    give() {
      for (const go of waiting) go();
      waiting.clear();
    },
    /** Resolves at the next `give`, after so many milliseconds, or when the signal aborts. */
    async wait({ withinMs = Number.POSITIVE_INFINITY, signal }: { withinMs?: number; signal?: AbortSignal } = {}) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await within(withinMs, promise, signal);
      waiting.delete(resolve);
    },
  };
}

/** Items in the order in which they came, for readers who come later or read slowly. */
export interface FollowableLog<T> {
  readonly items: readonly T[];
  readonly ended: boolean;
  append(...items: readonly T[]): void;
  /** Nothing follows; readers return after the last item. */
  end(): void;
  /** Passes on the items, those that are there together, until the log ends or the signal aborts; what `tell` returns is waited for. */
  follow(tell: (items: readonly T[]) => Promise<void> | undefined, signal?: AbortSignal): Promise<void>;
}

/** An empty log. */
export function followableLog<T>(): FollowableLog<T> {
  const items: T[] = [];
  const more = notice();
  let ended = false;
  return {
    items,
    get ended() {
      return ended;
    },
    append(...added) {
      items.push(...added);
      more.give();
    },
    end() {
      ended = true;
      more.give();
    },
    async follow(tell, signal) {
      for (let next = 0; !signal?.aborted; ) {
        const some = items.slice(next);
        next = items.length;
        const full = some.length > 0 ? tell(some) : undefined;
        if (full) await full;
        else if (next < items.length) continue;
        else if (ended) return;
        else await more.wait({ signal });
      }
    },
  };
}
