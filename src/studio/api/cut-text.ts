/** Long texts are sent in parts: the beginning immediately, the rest on request. What is missing is always stated. */

/** A text as far as it was sent; `length` is that of the whole. */
export interface CutText {
  text: string;
  length: number;
}

const sentCharacters = 8_000;

/** The beginning of a text. Never cuts a pair of surrogates in two. */
export function cutText(text: unknown, length = sentCharacters): CutText {
  const whole = typeof text === "string" ? text : text === undefined || text === null ? "" : JSON.stringify(text);
  if (whole.length <= length) return { text: whole, length: whole.length };
  const code = whole.charCodeAt(length - 1);
  const end = code >= 0xd800 && code <= 0xdbff ? length - 1 : length;
  return { text: whole.slice(0, end), length: whole.length };
}

/** The text at a path of a record: `segments.3.text`. Undefined where there is none. */
export function textAt(record: unknown, path: string): string | undefined {
  let value = record;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return typeof value === "string" ? value : value === undefined ? undefined : JSON.stringify(value);
}
