/**
 * What the shipped code asks of Node, for the demo page: hashes, comparison, addresses. The model runs in one thread there and
 * reads no files, so threads and files are refused.
 */

/** `node:net` */
export const isIPv4 = (text: string): boolean => /^(?:\d{1,3}\.){3}\d{1,3}$/.test(text);
export const isIPv6 = (text: string): boolean => text.includes(":");

/** `node:util` */
export const isDeepStrictEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** `node:vm`: no watchdog here; the only patterns are those of the shipped tokenizer. */
export class Script {
  readonly #run: () => unknown;

  constructor(source: string) {
    const slot = /\["(.+?)"\]/.exec(source)?.[1] ?? "";
    this.#run = () => (Reflect.get(globalThis, slot) as () => unknown)();
  }

  runInThisContext(): unknown {
    return this.#run();
  }
}

/** `node:crypto` */
export const randomUUID = (): string => crypto.randomUUID();
export const hash = (_: string, content: string | Uint8Array): string => {
  const { buffer } = createHash().update(content).digest();
  return [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** SHA-256 at once: the browser's own is asynchronous, and seeds are derived in the middle of work. */
export function createHash() {
  const parts: number[] = [];
  return {
    update(content: string | Uint8Array) {
      for (const byte of typeof content === "string" ? new TextEncoder().encode(content) : content) parts.push(byte);
      return this;
    },
    digest() {
      const view = new DataView(sha256(parts).buffer);
      return { buffer: view.buffer, readUInt32BE: (at: number) => view.getUint32(at) };
    },
  };
}

const primes = Array.from({ length: 312 }, (_, n) => n).filter(
  (n) => n > 1 && !Array.from({ length: 16 }, (_, d) => d + 2).some((d) => d < n && n % d === 0),
);
/** The first 32 bits of what follows the point in a root. */
const fraction = (root: number): number => Math.floor((root % 1) * 2 ** 32) | 0;
const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function sha256(bytes: readonly number[]): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const state = new Int32Array(primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime))));
  const words = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    let [a, b, c, d, e, f, g, h] = [...state] as [number, number, number, number, number, number, number, number];
    for (let at = 0; at < 64; at++) {
      const [two, fifteen] = [words[at - 2] ?? 0, words[at - 15] ?? 0];
      const small = rotate(fifteen, 7) ^ rotate(fifteen, 18) ^ (fifteen >>> 3);
      const large = rotate(two, 17) ^ rotate(two, 19) ^ (two >>> 10);
      words[at] = at < 16 ? view.getInt32(block + at * 4) : words[at - 16]! + small + words[at - 7]! + large;
      const choice = (e & f) ^ (~e & g);
      const first =
        (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + h + choice + words[at]! + fraction(Math.cbrt(primes[at]!));
      const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index]! += word;
  }
  const out = new DataView(new ArrayBuffer(32));
  for (const [index, word] of state.entries()) out.setInt32(index * 4, word);
  return new Uint8Array(out.buffer);
}

/** What is asked of `Buffer`: the first bytes of a page as text, and text without halves of characters. */
Object.assign(globalThis, {
  Buffer: {
    from: (content: Uint8Array | string) => ({
      toString: () => (typeof content === "string" ? content.toWellFormed() : String.fromCharCode(...content)),
    }),
  },
});

/** Threads and files. */
export const parentPort = null;
export const workerData = undefined;
const refused = (): never => {
  throw new Error("there are no threads and no files in the demo");
};

export {
  refused as basename,
  refused as closeSync,
  refused as dirname,
  refused as join,
  refused as mkdir,
  refused as open,
  refused as openSync,
  refused as readFile,
  refused as readSync,
  refused as rename,
  refused as resolve,
  refused as rm,
  refused as Worker,
  refused as writeFile,
};
