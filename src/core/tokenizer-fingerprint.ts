/** Whether two machines mean the same ids: workers and servers compare fingerprints before anything is trained. */
import { createHash } from "node:crypto";
import type { Tokenizer } from "./tokenizer.ts";

/** Size and digest of a tokenizer. */
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
