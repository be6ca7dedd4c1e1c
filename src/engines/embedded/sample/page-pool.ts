/**
 * The key-value cache is made of pages of 32 positions, all layers of a position in one page. The pool hands out pages
 * from the end of the decoder's memory, growing it up to a budget, and takes them back.
 */

export interface PagePool {
  /** A page's address, or undefined when the budget is spent. */
  take(): number | undefined;
  give(page: number): void;
  /** Pages that could still be taken. */
  readonly free: number;
}

const wasmPageBytes = 65536;

/** A pool of `count` pages of `pageBytes` from address `start` on. */
export function pagePool(memory: WebAssembly.Memory, start: number, pageBytes: number, count: number): PagePool {
  const returned: number[] = [];
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
        count = made; // the machine has no more memory; what there is must do
        return undefined;
      }
      return start + made++ * pageBytes;
    },
    give(page) {
      returned.push(page);
    },
    get free() {
      return returned.length + count - made;
    },
  };
}
