/**
 * The key-value cache is made of pages of 32 positions, all layers of a position in one page. The pool hands out pages
 * from the end of the decoder's memory, growing it up to a budget, and takes them back. A full page never changes, so
 * sequences that start alike may hold the same one; it is free again when the last of them gives it back.
 */

export interface PagePool {
  /** A page's address, or undefined when the budget is spent. */
  take(): number | undefined;
  give(page: number): void;
  share(page: number): number;
  isShared(page: number): boolean;
  readonly free: number;
}

const wasmPageBytes = 65536;

/** A pool of `count` pages of `pageBytes` from address `start` on. */
export function pagePool(memory: WebAssembly.Memory, start: number, pageBytes: number, count: number): PagePool {
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
    take() {
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
    give(page) {
      const others = extraHolders.get(page) ?? 0;
      if (others === 0) returned.push(page);
      else if (others === 1) extraHolders.delete(page);
      else extraHolders.set(page, others - 1);
    },
    share(page) {
      extraHolders.set(page, (extraHolders.get(page) ?? 0) + 1);
      return page;
    },
    isShared: (page) => extraHolders.has(page),
    get free() {
      return returned.length + count - made;
    },
  };
}
