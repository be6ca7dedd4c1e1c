/**
 * What paused chains leave behind: the tokens whose keys and values are cached, and the pages that hold them. A request
 * that comes back with the same key takes the pages of the longest common prefix; the rest is given back. The least
 * recently used session is removed when pages run out.
 */
import type { PagePool } from "./page-pool.ts";
import { sharedPrefix } from "./sequence.ts";
import { pagePositions } from "./wasm/row-kernels.ts";

export interface CachedPrefix {
  /** Positions that need not be computed. */
  length: number;
  pages: number[];
}

export interface SessionCache {
  /** Takes a session's cache out, cut to what it shares with `tokens`. */
  take(key: string, tokens: readonly number[]): CachedPrefix;
  put(key: string, tokens: readonly number[], pages: number[]): void;
  end(key: string): void;
  /** Frees the least recently used session; false when there is none. */
  evict(): boolean;
  clear(): void;
  readonly size: number;
}

export function sessionCache(pool: PagePool): SessionCache {
  // A map keeps insertion order, and every use inserts again: the first entry is the least recently used.
  const sessions = new Map<string, { tokens: readonly number[]; pages: number[] }>();
  const end = (key: string) => {
    for (const page of sessions.get(key)?.pages ?? []) pool.give(page);
    sessions.delete(key);
  };
  return {
    take(key, tokens) {
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
    put(key, tokens, pages) {
      end(key);
      sessions.set(key, { tokens, pages });
    },
    end,
    evict() {
      const oldest = sessions.keys().next();
      if (oldest.done) return false;
      end(oldest.value);
      return true;
    },
    clear() {
      for (const key of [...sessions.keys()]) end(key);
    },
    get size() {
      return sessions.size;
    },
  };
}
