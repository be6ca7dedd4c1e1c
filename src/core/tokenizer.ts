/** Text to token ids and back. Plain text never becomes a special token, whatever it looks like. */
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
  specialToken(text: string): number | undefined;
  readonly specialTokens: ReadonlyMap<string, number>;
  readonly endOfTurn: readonly number[];
  /** The chat template's rendering, up to where the model starts writing. */
  encodePrompt(prompt: readonly Message[]): number[];
  save(folder: string): Promise<void>;
}
