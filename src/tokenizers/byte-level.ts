/**
 * Byte-level tokenizers write each byte as one printable character, so that a vocabulary can be stored in JSON. The
 * table is GPT-2's, and every byte-level `tokenizer.json` in the world uses it: printable Latin-1 characters stay, the
 * other 68 bytes are moved to U+0100 and up, in order.
 */
const encoder = new TextEncoder();

export const characterOfByte: readonly string[] = makeTable();

const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  characterOfByte.map((character, byte) => [character, byte]),
);

/** Text as the byte-level alphabet writes it. Lone surrogates become U+FFFD, as in any UTF-8 encoder. */
export function toByteLevel(text: string): string {
  let result = "";
  for (const byte of encoder.encode(text)) result += characterOfByte[byte];
  return result;
}

/** The bytes behind a token written in the byte-level alphabet; `undefined` when a character is outside of it. */
export function bytesOfByteLevel(token: string): Uint8Array | undefined {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOfCharacter.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

function makeTable(): string[] {
  const table: string[] = [];
  let moved = 0;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table.push(String.fromCharCode(printable ? byte : 0x100 + moved++));
  }
  return table;
}

/** A pattern that matches any of the strings, longest first; undefined when there are none. */
export function specialPattern(specials: Iterable<string>): RegExp | undefined {
  const longestFirst = [...specials].sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((special) => special.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
}
