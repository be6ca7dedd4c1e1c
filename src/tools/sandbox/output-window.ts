/**
 * Collects a stream of bytes that may never end: the first and the last `limit` characters are kept, the rest is only
 * counted, so an output flood costs a constant amount of memory.
 */
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { joinCut } from "./limits.ts";

/** Makes a window that shows at most `limit` characters. */
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
