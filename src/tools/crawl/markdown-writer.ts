/**
 * Collects Markdown piece by piece: folds white space, keeps at most one empty line between blocks, and removes marks
 * around nothing.
 */

/** An empty Markdown text to write to. */
export function markdownWriter() {
  const done: string[] = []; // finished blocks with the breaks before them
  let block: string[] = []; // the block being written, in pieces: what is taken back costs nothing, however long the rest
  let breaks = 0; // newlines owed before the next text
  let space = false; // a space is owed
  let leading = false; // a lead stands and waits for its text
  let quoteDepth = 0;
  const marks = openNames();
  const places: { blockNumber: number; at: number; led: boolean }[] = []; // [mark]
  const isEmpty = () => block.length === 0 && done.length === 0;

  function settle(): void {
    if (breaks > 0) {
      if (!isEmpty()) {
        done.push(block.join(""));
        block = ["\n".repeat(breaks)];
      }
      if (quoteDepth > 0) block.push("> ".repeat(quoteDepth));
    } else if (space && !leading && !isEmpty()) block.push(" ");
    breaks = 0;
    space = false;
  }

  return {
    /** Running text; `verbatim` inside a code fence. */
    text(text: string, verbatim: boolean) {
      if (verbatim) {
        if (breaks > 0) settle();
        if (text !== "") block.push(text);
        return;
      }
      const folded = text.replace(/[\s\u00a0]+/g, " ");
      if (folded.startsWith(" ")) space = true;
      const trimmed = folded.trim();
      if (trimmed === "") return;
      settle();
      block.push(trimmed);
      leading = false;
      space = folded.endsWith(" ");
    },
    /** What comes before a block's text on its line: `## `, `- `. The next block continues that line. */
    lead(text: string) {
      if (text.startsWith(" ")) space = false;
      settle();
      block.push(text);
      leading = true;
    },
    openMark(mark: string) {
      const led = leading;
      settle();
      if (!marks.open(mark)) return;
      places.push({ blockNumber: done.length, at: block.length, led });
      block.push(mark);
      leading = true;
    },
    /** Closes a mark, by `closing` where that differs; a mark around nothing is removed. */
    closeMark(mark: string, closing: string = mark) {
      const index = marks.close(mark);
      if (index === undefined) return;
      const { at, blockNumber, led } = places[index]!;
      places.length = index;
      if (blockNumber === done.length && block.length <= at + 1) {
        block.length = at;
        leading = led;
      } else block.push(closing);
    },
    line() {
      if (!leading) breaks = Math.max(breaks, 1);
    },
    /** The text so far ends a block; `breaks` newlines before the next. */
    block(count: number) {
      if (!leading) breaks = Math.max(breaks, count);
      else space = false;
    },
    quote(change: number) {
      quoteDepth = Math.min(20, Math.max(0, quoteDepth + change));
    },
    rule() {
      leading = false;
      breaks = 2;
      settle();
      block.push("---");
      breaks = 2;
    },
    startFence() {
      leading = false;
      settle();
      block.push("```\n");
    },
    endFence() {
      block = [block.join("").trimEnd(), "\n```"];
      breaks = 2;
    },
    finish() {
      const lines = done.concat(block).join("").split("\n");
      const text = lines.map((line) => line.trimEnd()).join("\n");
      return text.replace(/\n{3,}/g, "\n\n").trim();
    },
  };
}

/** No normal page comes near it; hundreds of thousands would slow down garbage collection. */
const most = 1_000;

/**
 * The names of what is open, the innermost last. A closing name that is not open is known at once, without a look at the
 * whole list: a page of nothing but such names would otherwise cost the square of its length.
 */
export function openNames() {
  const names: string[] = [];
  const counts = new Map<string, number>();
  return {
    get depth() {
      return names.length;
    },
    get innermost() {
      return names.at(-1);
    },
    get outermost() {
      return names[0];
    },
    /** False where too many are open already: this one is then not remembered. */
    open(name: string) {
      if (names.length === most) return false;
      names.push(name);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return true;
    },
    /** Closes the innermost of this name with all inside it, and says how many are open then; undefined where none has it. */
    close(name: string) {
      if (!counts.get(name)) return undefined;
      let closed: string;
      do {
        closed = names.pop()!;
        counts.set(closed, counts.get(closed)! - 1);
      } while (closed !== name);
      return names.length;
    },
  };
}
