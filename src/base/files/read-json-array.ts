/**
 * The elements of one large JSON array, one at a time. Published datasets are single arrays of hundreds of megabytes, more
 * than a JavaScript string can hold; only one element is ever in memory here. An object that holds the array as its first
 * array value is read too.
 */
import { createReadStream } from "node:fs";
import { CoaError, messageOf } from "../../core/errors.ts";

/** Streams the elements; throws where the file is not JSON with an array in it. */
export async function* readJsonArray(file: string, options: { signal?: AbortSignal } = {}): AsyncGenerator<unknown> {
  let depth = 0; // inside the array
  let inString = false;
  let escaped = false;
  let begun = false;
  let ended = false;
  let element = "";
  let number = 0;
  const finish = (): unknown[] => {
    const text = element.trim();
    element = "";
    if (text === "") return [];
    number++;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new CoaError("format", `${file}, element ${number}: not JSON: ${messageOf(error)}`);
    }
    if (value !== null && typeof value === "object") return [value];
    throw new CoaError("format", `${file}, element ${number}: an element is an object, not ${text.slice(0, 40)}`);
  };
  for await (const chunk of createReadStream(file, {
    encoding: "utf8",
    highWaterMark: 1 << 20,
    signal: options.signal,
  })) {
    const text = chunk as string;
    let from = 0; // of what belongs to the element in this chunk
    for (let i = 0; i < text.length && !ended; i++) {
      const character = text[i]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (character === "\\") escaped = true;
        else if (character === '"') inString = false;
      } else if (character === '"') inString = true;
      else if (!begun) {
        if (character === "[") {
          begun = true;
          from = i + 1;
        } else if (!/[\s{}:,\w.+-]/.test(character) && character !== "\ufeff") i = text.length;
      } else if (character === "{" || character === "[") depth++;
      else if (character === "}" || character === "]") {
        if (depth === 0) {
          element += text.slice(from, i);
          yield* finish();
          ended = true;
        } else depth--;
      } else if (character === "," && depth === 0) {
        element += text.slice(from, i);
        yield* finish();
        from = i + 1;
      }
    }
    if (begun && !ended) element += text.slice(from);
    if (ended) break;
  }
  if (!begun) throw new CoaError("format", `${file} holds no array of rows`);
  if (!ended)
    throw new CoaError("format", `${file} breaks off after element ${number}: it was not written or copied whole`);
}
