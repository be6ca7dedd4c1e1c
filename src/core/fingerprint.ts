/** Short names for contents: equal contents have equal names, on every machine. */
import { createHash, hash } from "node:crypto";
import type { Message } from "./message.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A name for a text or bytes: the first 24 hexadecimal digits of their SHA-256. */
export function fingerprint(content: string | Uint8Array): string {
  return hash("sha256", content).slice(0, 24);
}

const names = new WeakMap<Message, string>();

/**
 * The name under which a team run stores a message: equal messages have equal names in every recorder. The message
 * must not change afterwards.
 */
export function messageHash(message: Message): string {
  let key = names.get(message);
  if (key === undefined) {
    const { role, content, reasoning, toolCalls, toolCallId, name } = message;
    key = fingerprint(JSON.stringify([role, content, reasoning, toolCalls, toolCallId, name]));
    names.set(message, key);
  }
  return key;
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
