/**
 * Collects Markdown piece by piece: folds white space, keeps at most one empty line between blocks, and takes back marks
 * that turned out to hold nothing.
 */
export interface MarkdownWriter {
  /** Running text; `verbatim` inside a code fence. */
  text(text: string, verbatim: boolean): void;
  /** What stands before a block's text on its line: `## `, `- `. The next block continues that line. */
  lead(text: string): void;
  openMark(mark: string): void;
  /** Closes a mark, by `closing` where that differs; a mark around nothing is taken back. */
  closeMark(mark: string, closing?: string): void;
  line(): void;
  /** The text so far ends a block; `breaks` newlines before the next. */
  block(breaks: number): void;
  quote(change: number): void;
  rule(): void;
  startFence(): void;
  endFence(): void;
  finish(): string;
}

/** Marks that can be open at once: no page that means well comes near it. */
const maxOpenMarks = 10_000;

/** An empty Markdown text to write to. */
export function markdownWriter(): MarkdownWriter {
  const done: string[] = []; // finished blocks with the breaks before them
  let block = ""; // the block being written: only it is ever looked back at, so the work stays in proportion
  let breaks = 0; // newlines owed before the next text
  let space = false; // a space is owed
  let leading = false; // a lead stands and waits for its text
  let quoteDepth = 0;
  const marks: { mark: string; blockNumber: number; at: number }[] = [];
  const isEmpty = () => block === "" && done.length === 0;

  function settle(): void {
    if (breaks > 0) {
      if (!isEmpty()) {
        done.push(block);
        block = "\n".repeat(breaks);
      }
      if (quoteDepth > 0) block += "> ".repeat(quoteDepth);
    } else if (space && !leading && !isEmpty()) block += " ";
    breaks = 0;
    space = false;
  }

  return {
    text(text, verbatim) {
      if (verbatim) {
        if (breaks > 0) settle();
        block += text;
        return;
      }
      const folded = text.replace(/[\s\u00a0]+/g, " ");
      if (folded.startsWith(" ")) space = true;
      const trimmed = folded.trim();
      if (trimmed === "") return;
      settle();
      block += trimmed;
      leading = false;
      space = folded.endsWith(" ");
    },
    lead(text) {
      if (text.startsWith(" ")) space = false;
      settle();
      block += text;
      leading = true;
    },
    openMark(mark) {
      settle();
      if (marks.length < maxOpenMarks) marks.push({ mark, blockNumber: done.length, at: block.length });
      block += mark;
      leading = true;
    },
    closeMark(mark, closing = mark) {
      const index = marks.findLastIndex((open) => open.mark === mark);
      if (index < 0) return;
      const { at, blockNumber } = marks[index]!;
      marks.length = index;
      if (blockNumber === done.length && block.length <= at + mark.length) {
        block = block.slice(0, at);
        leading = /^\n*[ >]*(?:#+|-|\d+\.) $/.test(block);
      } else block += closing;
    },
    line() {
      if (!leading) breaks = Math.max(breaks, 1);
    },
    block(count) {
      if (!leading) breaks = Math.max(breaks, count);
      else space = false;
    },
    quote(change) {
      quoteDepth = Math.min(20, Math.max(0, quoteDepth + change));
    },
    rule() {
      leading = false;
      breaks = 2;
      settle();
      block += "---";
      breaks = 2;
    },
    startFence() {
      leading = false;
      settle();
      block += "```\n";
    },
    endFence() {
      block = `${block.trimEnd()}\n\`\`\``;
      breaks = 2;
    },
    finish() {
      const lines = [...done, block].join("").split("\n");
      const text = lines.map((line) => line.trimEnd()).join("\n");
      return text.replace(/\n{3,}/g, "\n\n").trim();
    },
  };
}
