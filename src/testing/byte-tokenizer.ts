/**
 * The simplest correct tokenizer: one id per byte, and one id per special string. It splits characters across tokens
 * and keeps plain text apart from special tokens, which is what tests of token mode need to see.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tokenizer } from "../core/tokenizer.ts";

/** Bytes are ids 0 to 255; the special strings follow, `<|end|>` first. */
export function byteTokenizer(specials: readonly string[] = []): Tokenizer {
  const strings = ["<|end|>", ...specials];
  const specialTokens = new Map(strings.map((text, index) => [text, 256 + index]));
  const longestFirst = strings.toSorted((a, b) => b.length - a.length);
  const encoder = new TextEncoder();
  const bytesOf = (token: number) =>
    token < 256 ? Uint8Array.of(token) : encoder.encode(strings[token - 256] ?? `<unknown ${token}>`);

  function encodeWithSpecials(text: string): number[] {
    const tokens: number[] = [];
    let plain = 0;
    for (let at = 0; at < text.length; ) {
      const special = text[at] === "<" ? longestFirst.find((candidate) => text.startsWith(candidate, at)) : undefined;
      if (special === undefined) {
        at++;
        continue;
      }
      tokens.push(...encoder.encode(text.slice(plain, at)), specialTokens.get(special)!);
      at += special.length;
      plain = at;
    }
    tokens.push(...encoder.encode(text.slice(plain)));
    return tokens;
  }

  return {
    vocabularySize: 256 + strings.length,
    encode: (text) => [...encoder.encode(text)],
    encodeWithSpecials,
    decode: (tokens) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(tokens.map(bytesOf))),
    tokenBytes: bytesOf,
    specialToken: (text) => specialTokens.get(text),
    specialTokens,
    endOfTurn: [256],
    encodePrompt: (prompt) => prompt.flatMap((message) => [...encoder.encode(`${message.role}: ${message.content}\n`)]),
    async save(folder) {
      await writeFile(join(folder, "tokenizer.json"), JSON.stringify({ type: "bytes", specials }));
    },
  };
}
