/** Text to token ids and back. Plain text never becomes a special token, whatever it looks like. */
import { createHash } from "node:crypto";
import type { Message } from "./message.ts";

export interface Tokenizer {
  readonly vocabularySize: number;
  /** Ids of plain text: a special-token string in it is encoded as ordinary characters. */
  encode(text: string): number[];
  /** Ids of text that we wrote ourselves, in which special-token strings (chain tags) become their single ids. */
  encodeWithSpecials(text: string): number[];
  decode(tokens: readonly number[]): string;
  /** The exact bytes of one token, for streaming and for masks. */
  tokenBytes(token: number): Uint8Array;
  /** The id of a special-token string, where there is one. */
  specialToken(text: string): number | undefined;
  readonly specialTokens: ReadonlyMap<string, number>;
  readonly endOfTurn: readonly number[];
  /** The chat template's rendering, up to where the model starts writing. */
  encodePrompt(prompt: readonly Message[]): number[];
  /** Writes tokenizer.json and tokenizer_config.json. */
  save(folder: string): Promise<void>;
}

/** Whether two machines mean the same ids: workers and servers compare these before anything is trained. */
export interface TokenizerFingerprint {
  size: number;
  fingerprint: string;
}

/** Every id's bytes, the special tokens, and a rendered prompt. */
export function tokenizerFingerprint(tokenizer: Tokenizer): TokenizerFingerprint {
  const hash = createHash("sha256");
  for (let token = 0; token < tokenizer.vocabularySize; token++) hash.update(tokenizer.tokenBytes(token)).update("\0");
  hash.update(JSON.stringify([...tokenizer.specialTokens]));
  const prompt = [
    { role: "system" as const, content: "Answer." },
    { role: "user" as const, content: "3 + 4 = ?" },
  ];
  hash.update(JSON.stringify(tokenizer.encodePrompt(prompt)));
  return { size: tokenizer.vocabularySize, fingerprint: hash.digest("hex") };
}

/** What differs between one side's tokenizer and the other's, in words; nothing where they agree. */
export function tokenizerDifference(
  own: TokenizerFingerprint,
  other: TokenizerFingerprint,
  whose: { own: string; other: string },
): string | undefined {
  if (own.size !== other.size) return `${whose.own} tokenizer has ${own.size} ids, ${whose.other} has ${other.size}`;
  if (own.fingerprint === other.fingerprint) return undefined;
  return `${whose.own} tokenizer differs from ${whose.other} in its ids, special tokens or chat template`;
}
