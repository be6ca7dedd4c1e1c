/** Default limits of one run: the paper's 5 s of CPU, 7 s of wall clock and 1,536 characters. */

import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import type { SandboxLimits } from "../../core/sandbox.ts";

/** The limits for everything that a request does not set. */
export const defaultSandboxLimits: SandboxLimits = {
  cpuMs: 5_000,
  wallMs: 7_000,
  memoryMb: 512,
  outputCharacters: 1_536,
};

/** Fills what `limits` leaves open, first from `base`, then from the defaults. */
export function withLimits(limits: Partial<SandboxLimits> = {}, base: Partial<SandboxLimits> = {}): SandboxLimits {
  const merged = { ...defaultSandboxLimits };
  for (const part of [base, limits]) {
    for (const [name, value] of Object.entries(part)) {
      if (value !== undefined) merged[name as keyof SandboxLimits] = value;
    }
  }
  return merged;
}

/** Keeps the first and the last half of `limit` characters of a text and says how many were cut out between them. */
export function trimMiddle(text: string, limit: number): string {
  return joinCut(text, text, text.length, limit);
}

/** The same for a text of which only a head and a tail (each at least half of `limit`, the head all of it if short) and the length are known. */
export function joinCut(head: string, tail: string, length: number, limit: number): string {
  if (length <= limit) return head;
  const half = Math.floor(limit / 2);
  const cut = length - 2 * half;
  return `${sliceHead(head, half)}\n... [${cut} characters cut] ...\n${sliceTail(tail, half)}`;
}

// A cut between the two halves of a surrogate pair would leave a lone surrogate that UTF-8 cannot carry.
function sliceHead(text: string, length: number): string {
  const slice = text.slice(0, length);
  return /[\uD800-\uDBFF]$/.test(slice) ? slice.slice(0, -1) : slice;
}

function sliceTail(text: string, length: number): string {
  const slice = length === 0 ? "" : text.slice(-length);
  return /^[\uDC00-\uDFFF]/.test(slice) ? slice.slice(1) : slice;
}

/**
 * Collects a stream of bytes that may never end: the first and the last `limit` characters are kept, the rest is only
 * counted, so an output flood costs a constant amount of memory.
 */
export function outputWindow(limit: number) {
  const decoder = new StringDecoder("utf8");
  let head = "";
  let tail = "";
  let length = 0;
  const add = (text: string): void => {
    length += text.length;
    if (head.length < limit) {
      const taken = text.slice(0, limit - head.length);
      head += taken;
      text = text.slice(taken.length);
    }
    tail += text;
    if (tail.length > 4 * limit + 65_536) tail = tail.slice(-limit);
  };
  return {
    write: (bytes: Uint8Array) => add(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    text() {
      add(decoder.end());
      return joinCut(head, tail.length >= limit ? tail : head.slice(tail.length - limit) + tail, length, limit);
    },
    get length() {
      return length;
    },
  };
}

/** A window over a stream: write bytes, then ask for the text with its middle cut out. */
export type OutputWindow = ReturnType<typeof outputWindow>;
