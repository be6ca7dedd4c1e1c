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

/** An empty Markdown text to write to. */
export function markdownWriter(): MarkdownWriter {
  let result = "";
  let breaks = 0; // newlines owed before the next text
  let space = false; // a space is owed
  let leading = false; // a lead stands and waits for its text
  let quoteDepth = 0;
  const marks: { mark: string; at: number }[] = [];

  function settle(): void {
    if (breaks > 0) {
      if (result !== "") result += "\n".repeat(breaks);
      if (quoteDepth > 0) result += "> ".repeat(quoteDepth);
    } else if (space && result !== "" && !leading) result += " ";
    breaks = 0;
    space = false;
  }

  return {
    text(text, verbatim) {
      if (verbatim) {
        if (breaks > 0) settle();
        result += text;
        return;
      }
      const folded = text.replace(/[\s\u00a0]+/g, " ");
      if (folded.startsWith(" ")) space = true;
      const trimmed = folded.trim();
      if (trimmed === "") return;
      settle();
      result += trimmed;
      leading = false;
      space = folded.endsWith(" ");
    },
    lead(text) {
      if (text.startsWith(" ")) space = false;
      settle();
      result += text;
      leading = true;
    },
    openMark(mark) {
      settle();
      marks.push({ mark, at: result.length });
      result += mark;
      leading = true;
    },
    closeMark(mark, closing = mark) {
      const index = marks.findLastIndex((open) => open.mark === mark);
      if (index < 0) return;
      const { at } = marks[index]!;
      marks.length = index;
      if (result.length <= at + mark.length) {
        result = result.slice(0, at);
        leading = /^[ >]*(?:#+|-|\d+\.) $/.test(result.slice(result.lastIndexOf("\n") + 1));
      } else result += closing;
    },
    line() {
      if (!leading) breaks = Math.max(breaks, 1);
    },
    block(count) {
      if (!leading) breaks = Math.max(breaks, count);
      else space = false;
    },
    quote(change) {
      quoteDepth = Math.max(0, quoteDepth + change);
    },
    rule() {
      leading = false;
      breaks = 2;
      settle();
      result += "---";
      breaks = 2;
    },
    startFence() {
      leading = false;
      settle();
      result += "```\n";
    },
    endFence() {
      result = `${result.trimEnd()}\n\`\`\``;
      breaks = 2;
    },
    finish() {
      return result
        .replace(/[ \t]+$/gm, "")
        .replace(/\n{3,}/g, "\n\n")
        .trim();
    },
  };
}
