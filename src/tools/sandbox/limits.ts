/** What one run may use when nobody says otherwise: the paper's 5 s of CPU, 7 s of wall clock and 1,536 characters. */
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
