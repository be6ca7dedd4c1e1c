/**
 * Reads a stream of decoded text into segments while it arrives. It is told which tags exist and knows nothing else:
 * `<name>` of a known tag opens a segment, `</name>` closes it, and everything else, unknown tags included, is text.
 * Models forget to close tags, so an opening tag inside an open segment ends that segment and begins the next; the reader
 * says so and continues. Input of any kind is accepted, each character is looked at a bounded number of times, and joining
 * the written forms of all segments (with the white space returned by `end`) gives back the input exactly.
 */
import { looseText } from "../core/trajectory.ts";

/** One segment as read, with its place in the whole stream (counted in UTF-16 units). */
export interface ReadSegment {
  tag: string;
  text: string;
  /** White space before the opening tag, which belongs to the written form of this segment. */
  lead: string;
  closed: boolean;
  start: number;
  end: number;
}

/** Something in the stream that a well-formed chain does not contain. */
export interface ReadProblem {
  kind: "nested" | "unclosed" | "stray-close" | "loose-text";
  tag: string;
  at: number;
  message: string;
}

/** Who listens. Returning true from `open` stops the reader before that tag, from `close` right after it. */
export interface TagReaderSink {
  // biome-ignore lint/suspicious/noConfusingVoidType: most listeners return nothing
  open?(tag: string): boolean | void;
  text?(text: string): void;
  // biome-ignore lint/suspicious/noConfusingVoidType: most listeners return nothing
  close(segment: ReadSegment): boolean | void;
  problem?(problem: ReadProblem): void;
}

/** Keep and reuse the object: what is derived from it is kept with it. */
export interface TagReaderOptions {
  tags: readonly string[];
  /** Tags whose body is code: inside them only their own closing tag means anything. */
  verbatim?: readonly string[];
}

const knownTags = new WeakMap<TagReaderOptions, ReturnType<typeof readTags>>();

function readTags(options: TagReaderOptions) {
  const tags = new Set(options.tags);
  tags.delete(looseText);
  const longest = Math.max(0, ...options.tags.map((tag) => tag.length));
  return { tags, verbatim: new Set(options.verbatim), longest };
}

const isNameCode = (code: number) =>
  (code >= 97 && code <= 122) || code === 95 || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 45;
const leadingSpace = /^\s*/;

/** Makes a reader that reports to `sink`. */
export function tagReader(options: TagReaderOptions, sink: TagReaderSink) {
  const known = knownTags.get(options) ?? readTags(options);
  knownTags.set(options, known);
  const { tags, verbatim, longest } = known;

  let open: string | undefined; // tag of the segment being read; looseText when outside any tag but text has come
  let inside = false; // open is a real tag
  let body: string[] = []; // pieces, joined once: a long body in small pieces is not copied for each of them
  let lead = "";
  let start = 0; // where the segment being read begins, or where the last one ended
  let held = ""; // the end of the last chunk that may be the beginning of a tag
  let base = 0; // stream position of the first character not yet consumed
  let stopped = false;

  function addText(text: string): void {
    if (text === "") return;
    if (open === undefined) {
      const space = leadingSpace.exec(text)![0];
      if (space.length === text.length) {
        lead += text;
        return;
      }
      open = looseText;
      const whole = lead + text;
      lead = "";
      body = [whole];
      sink.open?.(looseText);
      sink.text?.(whole);
      return;
    }
    body.push(text);
    sink.text?.(text);
  }

  function finish(end: number, closed: boolean): void {
    const text = body.join("");
    const segment: ReadSegment = { tag: open!, text, lead, closed, start, end };
    if (!inside) {
      sink.problem?.({
        kind: "loose-text",
        tag: looseText,
        at: start,
        message: `text outside any tag: ${text.trim().slice(0, 60)}`,
      });
    }
    open = undefined;
    inside = false;
    body = [];
    lead = "";
    start = end;
    if (sink.close(segment) === true) stopped = true;
  }

  function begin(tag: string, at: number): void {
    if (inside) {
      sink.problem?.({ kind: "nested", tag: open!, at, message: `<${tag}> began while <${open}> was still open` });
      finish(at, false);
    } else if (open !== undefined) finish(at, true);
    if (stopped || (stopped = sink.open?.(tag) === true)) return;
    open = tag;
    inside = true;
    body = [];
  }

  /** Consumes `text` up to a possible partial tag at its end; returns where that begins (the length, where there is none). */
  function consume(text: string, final: boolean): number {
    let from = 0; // text before this was handed on
    let search = 0;
    for (;;) {
      const at = text.indexOf("<", search);
      if (at === -1) break;
      const closing = text.charCodeAt(at + 1) === 47;
      const nameStart = closing ? at + 2 : at + 1;
      let cursor = nameStart;
      const limit = Math.min(text.length, nameStart + longest + 1);
      while (cursor < limit && isNameCode(text.charCodeAt(cursor))) cursor++;
      if (cursor >= text.length && cursor - nameStart <= longest && !final) {
        addText(text.slice(from, at));
        base += at - from;
        return at;
      }
      if (cursor === nameStart || text.charCodeAt(cursor) !== 62) {
        search = Math.max(cursor, at + 1);
        continue;
      }
      search = cursor + 1;
      const name = text.slice(nameStart, cursor);
      if (!tags.has(name)) continue;
      if (inside && verbatim.has(open!) && !(closing && name === open)) continue;
      if (closing && name !== open) {
        sink.problem?.({
          kind: "stray-close",
          tag: name,
          at: base + at - from,
          message: inside ? `</${name}> inside <${open}>` : `</${name}> closes nothing`,
        });
        continue;
      }
      addText(text.slice(from, at));
      base += at - from;
      const length = cursor + 1 - at;
      if (closing) {
        base += length;
        finish(base, true);
      } else {
        begin(name, base);
        if (!stopped) base += length;
      }
      if (stopped) return text.length;
      from = cursor + 1;
    }
    addText(text.slice(from));
    base += text.length - from;
    return text.length;
  }

  return {
    /** Reads on. After a stop the rest is dropped, and `position` says where it stopped. */
    write(chunk: string) {
      if (chunk === "" || stopped) return;
      const text = held === "" ? chunk : held + chunk;
      const kept = consume(text, false);
      held = kept === text.length ? "" : text.slice(kept);
    },
    /** Ends what is open (a model ended its turn) and returns white space that belongs to no segment. The reader can be used further. */
    end() {
      if (held !== "") {
        const rest = held;
        held = "";
        // Half a closing tag is the model's end, cut off: it stays in the segment, and is nothing that was said.
        if (inside && `</${open}>`.startsWith(rest)) {
          body.push(rest);
          base += rest.length;
        } else consume(rest, true);
      }
      if (open !== undefined) {
        if (inside) {
          sink.problem?.({ kind: "unclosed", tag: open, at: base, message: `<${open}> was never closed` });
        }
        finish(base, !inside);
      }
      const space = lead;
      lead = "";
      start = base;
      return space;
    },
    // Methods, not getters: a getter that closes over one reader gives every reader a shape of its own, which the engine keeps.
    /** How much of the stream was read, in UTF-16 units. */
    position: () => base + held.length,
    stopped: () => stopped,
  };
}
