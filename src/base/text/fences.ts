/** Fenced blocks in what a model wrote, read in time linear in its length. */

/** One block between fences of three backticks. */
export interface FencedBlock {
  /** The word after the opening fence, as written. */
  language: string;
  inside: string;
}

/**
 * The fenced blocks of a text, in order; one that is never closed reaches to the end. With `ownLines` only a fence at the
 * start of a line counts, so that fences inside a string of a program are not taken for one.
 */
export function fencedBlocks(text: string, options: { ownLines?: boolean } = {}): FencedBlock[] {
  const fence = options.ownLines ? /^[ \t]*```/gm : /```/g;
  const next = (from: number): { start: number; end: number } | undefined => {
    fence.lastIndex = from;
    const match = fence.exec(text);
    return match ? { start: match.index, end: fence.lastIndex } : undefined;
  };
  const blocks: FencedBlock[] = [];
  for (let open = next(0); open; ) {
    const line = text.indexOf("\n", open.end);
    if (line < 0) break;
    const language = /^[ \t]*([\w+-]*)/.exec(text.slice(open.end, line))?.[1] ?? "";
    const close = next(line + 1);
    const inside = text.slice(line + 1, close?.start);
    blocks.push({ language, inside: close && inside.endsWith("\n") ? inside.slice(0, -1) : inside });
    open = close && next(close.end);
  }
  return blocks;
}

export function withoutLastLineBreaks(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === 10) end--;
  return text.slice(0, end);
}
