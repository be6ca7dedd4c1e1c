/**
 * How a tool's output becomes part of the chain: made text, neutralised, capped by tokens with head and tail kept, and
 * written in its tags. In token mode the tags are special ids and the text is encoded as plain text, so nothing in it can
 * ever become a special token.
 */
import type { Model } from "../core/model.ts";
import { estimateTokens } from "../core/token-estimate.ts";
import type { Segment } from "../core/trajectory.ts";
import type { Profile } from "./profile.ts";

/** White space around observations: `paper` as the published models were trained, `compact` for models of our own. */
export type Layout = "paper" | "compact";

/** A tool's result as text. */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output === "" ? "(no output)" : output;
  if (output === undefined || output === null) return "(no output)";
  if (typeof output === "number" || typeof output === "boolean" || typeof output === "bigint") return String(output);
  try {
    return JSON.stringify(output, null, 1) ?? "(no output)";
  } catch {
    return String(output);
  }
}

/** Estimated or exact number of tokens of a text. */
export function tokenCounter(model: Model): (text: string) => number {
  if (model.countTokens) return (text) => model.countTokens!(text);
  if (model.encodeText) return (text) => model.encodeText!(text).length;
  return estimateTokens;
}

/** Cuts the middle out of a text that has more than `maxTokens`, and says how much is missing. */
export function capText(
  text: string,
  maxTokens: number,
  count: (text: string) => number,
): { text: string; cutCharacters: number } {
  // No tokenizer makes more tokens than there are bytes, so short texts need no counting.
  if (text.length * 3 <= maxTokens) return { text, cutCharacters: 0 };
  const tokens = count(text);
  if (tokens <= maxTokens) return { text, cutCharacters: 0 };
  let keep = Math.max(2, Math.floor((text.length * maxTokens) / tokens));
  for (;;) {
    const cut = withoutMiddle(text, keep);
    if (keep <= 2 || count(cut.text) <= maxTokens) return cut;
    keep = Math.floor(keep * 0.9) - 1;
  }
}

function withoutMiddle(text: string, keep: number): { text: string; cutCharacters: number } {
  const room = Math.max(0, keep - 40);
  let headEnd = Math.ceil(room * 0.6);
  let tailStart = text.length - Math.floor(room * 0.4);
  if (isLowSurrogate(text, headEnd)) headEnd--;
  if (isLowSurrogate(text, tailStart)) tailStart++;
  const cutCharacters = tailStart - headEnd;
  return {
    text: `${text.slice(0, headEnd)}\n[… ${cutCharacters} characters cut …]\n${text.slice(tailStart)}`,
    cutCharacters,
  };
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}

/** An observation segment in its written form, with its token ids where the model works on tokens. */
export function observationSegment(
  profile: Profile,
  text: string,
  by: "tool" | "runtime",
  layout: Layout,
  model: Model,
): Segment {
  const tag = profile.observation;
  const segment: Segment = { tag, text, by };
  const before = layout === "paper" ? `\n<${tag}>\n` : `<${tag}>`;
  const after = layout === "paper" ? `\n</${tag}>\n\n` : `</${tag}>`;
  if (layout === "paper") segment.raw = before + text + after;
  const tokenizer = model.tokenizer;
  if (tokenizer) {
    segment.tokens = [
      ...tokenizer.encodeWithSpecials(before),
      ...tokenizer.encode(text),
      ...tokenizer.encodeWithSpecials(after),
    ];
  }
  return segment;
}
