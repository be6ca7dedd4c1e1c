/** One example as a person can check it: which text is learned, which is only read, and where the tokens are cut. */
import type { Tokenizer } from "../core/tokenizer.ts";
import { type TrainingSequence, weightsOf } from "./training-sequence.ts";

export interface InspectedSpan {
  kind: "prompt" | "masked" | "trained";
  weight: number;
  text: string;
  tokens: number[];
  /** The text of each token; a token that is part of a character shows as its bytes. */
  pieces: string[];
}

/** The stretches of a sequence that are treated alike. */
export function inspectSequence(sequence: TrainingSequence, tokenizer: Tokenizer): InspectedSpan[] {
  const spans: InspectedSpan[] = [];
  const weights = weightsOf(sequence);
  sequence.tokens.forEach((token, index) => {
    const weight = weights[index]!;
    const kind = weight !== 0 ? "trained" : index < sequence.promptLength ? "prompt" : "masked";
    let span = spans.at(-1);
    if (!span || span.kind !== kind || span.weight !== weight) {
      span = { kind, weight, text: "", tokens: [], pieces: [] };
      spans.push(span);
    }
    span.tokens.push(token);
    span.pieces.push(pieceText(tokenizer.tokenBytes(token)));
  });
  for (const span of spans) span.text = tokenizer.decode(span.tokens);
  return spans;
}

/** The text of a token; a part of a character shows as its bytes. */
export function pieceText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
}
