/**
 * What one input from outside may cost: bytes, parts, levels and time. Every request, reply and file is counted against one of
 * these before anything is made of it, so that no input can fill the memory or take all of the process's time.
 */

/** The most that one input may cost. */
export interface Budget {
  /** After unpacking. */
  bytes: number;
  /** Lists and objects of a JSON text; numbers and texts are counted by their bytes. */
  items: number;
  /** Levels of JSON: a deeper value would overflow the stack of recursive code. */
  depth: number;
  /** For its arrival, or for the work on it. */
  ms: number;
}

/** Levels that JSON from outside may have. */
export const maxDepth = 200;
const depth = maxDepth;

/** The budgets of the house; SECURITY.md shows them. */
export const budgets = {
  /** A request to a server of ours, until it has arrived. */
  request: { bytes: 20 * 2 ** 20, items: 1_000_000, depth, ms: 600_000 },
  /** What another server answers; the time is that of its silence. */
  reply: { bytes: 64 * 2 ** 20, items: 1_000_000, depth, ms: 120_000 },
  event: { bytes: 16 * 2 ** 20, items: 250_000, depth, ms: 120_000 },
  line: { bytes: 256 * 2 ** 20, items: 16_000_000, depth, ms: 600_000 },
  /** One text that a tokenizer from elsewhere splits and merges. */
  tokens: { bytes: 256 * 2 ** 20, items: 2 ** 26, depth: 1, ms: 20_000 },
} as const satisfies Record<string, Budget>;

/** How many parts of one kind a request may have. */
export const most = {
  /** Function tools: each may follow each, so that work grows with their square. */
  tools: 512,
  /** Calls in one batch of the Model Context Protocol. */
  batch: 64,
  /** Samples of one request to a training server. */
  samples: 1024,
  /** Passages that one request to a retrieval server may ask for, over all its queries. */
  passages: 100_000,
  /** Bytes of all requests that a server holds at a time. */
  heldBytes: 2 ** 30,
} as const;

/** What of a budget a JSON text would take too much of; undefined where it fits. Counted before anything is built from the text. */
export function jsonExcess(text: string, budget: Pick<Budget, "items" | "depth">): string | undefined {
  let level = 0;
  let items = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      // To the closing quote, which an odd number of backslashes before it would escape.
      for (at = text.indexOf('"', at + 1); at !== -1 && isEscaped(text, at); at = text.indexOf('"', at + 1));
      if (at === -1) return undefined; // not JSON: its parser says where
    } else if (code === 91 || code === 123) {
      if (++level > budget.depth) return `is nested more than ${budget.depth} levels deep`;
      if (++items > budget.items) return `has more than ${budget.items} lists and objects`;
    } else if (code === 93 || code === 125) level--;
  }
  return undefined;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 92) before--;
  return (at - before) % 2 === 0;
}
