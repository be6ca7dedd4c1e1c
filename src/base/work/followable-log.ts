/**
 * Waiting for what others do: a notice that wakes all who wait, and a log over it that is kept and can be followed from any
 * place while it is still written.
 */
import { within } from "./within.ts";

/** Wakes whoever waits. */
export interface Notice {
  /** Wakes all who wait now. */
  give(): void;
  /** Resolves at the next `give`, after so many milliseconds, or when the signal aborts. */
  wait(options?: { withinMs?: number; signal?: AbortSignal }): Promise<void>;
}

/** A notice for which nothing waits. */
export function notice(): Notice {
  const waiting = new Set<() => void>();
  return {
    give() {
      for (const go of waiting) go();
      waiting.clear();
    },
    async wait({ withinMs = Number.POSITIVE_INFINITY, signal } = {}) {
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
  /** The items from a place on, as they come, until the log ends or the signal aborts. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<T>;
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
    async *follow(from, signal) {
      for (let next = from; !signal.aborted; ) {
        while (next < items.length) yield items[next++]!;
        if (ended) return;
        await more.wait({ signal });
      }
    },
  };
}
