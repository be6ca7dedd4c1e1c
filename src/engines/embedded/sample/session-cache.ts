/**
 * What paused chains leave behind: the tokens whose keys and values are cached, and the pages that hold them. A request
 * that comes back with the same key takes the pages of the longest common prefix; the rest is given back. The least
 * recently used session is removed when pages run out.
 */
import { sharedPrefix } from "./sequence.ts";
import { pagePositions } from "./wasm/row-kernels.ts";

export interface CachedPrefix {
  /** Positions that need not be computed. */
  length: number;
  pages: number[];
}

export function sessionCache(pool: ReturnType<typeof pagePool>) {
  // A map keeps insertion order, and every use inserts again: the first entry is the least recently used.
  const sessions = new Map<string, { tokens: readonly number[]; pages: number[] }>();
  const end = (key: string) => {
    for (const page of sessions.get(key)?.pages ?? []) pool.give(page);
    sessions.delete(key);
  };
  return {
    /** Takes a session's cache out, cut to what it shares with `tokens`. */
    take(key: string, tokens: readonly number[]): CachedPrefix {
      const session = sessions.get(key);
      if (!session) return { length: 0, pages: [] };
      sessions.delete(key);
      let length = sharedPrefix(tokens, session.tokens);
      const last = session.pages[Math.floor(length / pagePositions)];
      // What follows is written behind `length`; a page that others read too is left to them.
      if (last !== undefined && pool.isShared(last)) length -= length % pagePositions;
      const kept = Math.ceil(length / pagePositions);
      for (const page of session.pages.splice(kept)) pool.give(page);
      return { length, pages: session.pages };
    },
    put(key: string, tokens: readonly number[], pages: number[]): void {
      end(key);
      sessions.set(key, { tokens, pages });
    },
    end,
    /** Frees the least recently used session; false when there is none. */
    evict(): boolean {
      const oldest = sessions.keys().next();
      if (oldest.done) return false;
      end(oldest.value);
      return true;
    },
    clear(): void {
      for (const key of [...sessions.keys()]) end(key);
    },
    get size(): number {
      return sessions.size;
    },
  };
}

const wasmPageBytes = 65536;

/**
 * A pool of `count` pages of `pageBytes` from address `start` on, the end of the decoder's memory. A full page never changes, so
 * sequences that start alike may hold the same one; it is free again when the last of them gives it back.
 */
export function pagePool(memory: WebAssembly.Memory, start: number, pageBytes: number, count: number) {
  const returned: number[] = [];
  const extraHolders = new Map<number, number>();
  let made = 0;
  const grow = (bytes: number): boolean => {
    try {
      memory.grow(Math.ceil(bytes / wasmPageBytes));
      return true;
    } catch {
      return false;
    }
  };
  return {
    /** A page's address, or undefined when the budget is spent. */
    take(): number | undefined {
      const reused = returned.pop();
      if (reused !== undefined) return reused;
      if (made === count) return undefined;
      const end = start + (made + 1) * pageBytes;
      const missing = end - memory.buffer.byteLength;
      // Growing in larger steps keeps the number of growths small.
      const step = Math.max(missing, Math.min((count - made) * pageBytes, 2 ** 25));
      if (missing > 0 && !grow(step) && !grow(missing)) {
        count = made; // the machine has no more memory; the pages so far are used
        return undefined;
      }
      return start + made++ * pageBytes;
    },
    give(page: number): void {
      const others = extraHolders.get(page) ?? 0;
      if (others === 0) returned.push(page);
      else if (others === 1) extraHolders.delete(page);
      else extraHolders.set(page, others - 1);
    },
    share(page: number): number {
      extraHolders.set(page, (extraHolders.get(page) ?? 0) + 1);
      return page;
    },
    isShared: (page: number) => extraHolders.has(page),
    get free(): number {
      return returned.length + count - made;
    },
  };
}
