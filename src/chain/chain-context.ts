/**
 * What the model sees: the prompt, and everything decoded so far, as text and (for models that work on tokens) as ids.
 * It grows by appending only, so that prefix caches hold, with one exception: compaction puts a shorter text in the place
 * of an old observation. The trajectory always keeps the original.
 */

import { messageTokens } from "../base/count/token-estimate.ts";
import type { Message } from "../core/message.ts";
import type { Model } from "../core/model.ts";
import { type Segment, writtenForm } from "../core/trajectory.ts";

/** A context with only the prompt; `known` are its ids, where it was tokenised before. */
export function chainContext(
  prompt: readonly Message[],
  model: Model,
  count: (text: string) => number,
  known?: readonly number[],
) {
  const promptTokens = model.tokenizer ? (known?.slice() ?? model.encodePrompt?.(prompt)) : undefined;
  const promptSize = promptTokens?.length ?? prompt.reduce((sum, message) => sum + messageTokens(message, count), 0);
  const segments: Segment[] = [];
  const replaced = new Map<number, Segment>();
  let text = "";
  let tokens = promptTokens?.slice();
  let seen = 0;
  let fresh = promptSize;

  function write(segment: Segment): void {
    text += writtenForm(segment);
    if (tokens) for (const token of segment.tokens ?? []) tokens.push(token);
  }
  const sizeOf = (segment: Segment) => segment.tokens?.length ?? count(writtenForm(segment));

  return {
    prompt,
    promptTokens,
    segments,
    text: () => text,
    tokens: () => tokens,
    /** Adds a segment by a tool or the runtime. */
    append(segment: Segment) {
      segments.push(segment);
      write(segment);
      fresh += sizeOf(segment);
    },
    /** Adds what the model wrote in a turn whose calls were already counted. */
    appendTurn(turn: readonly Segment[]) {
      for (const segment of turn) {
        segments.push(segment);
        write(segment);
      }
    },
    /** Shows other segments in the place of these. */
    replace(replacements: ReadonlyMap<number, Segment>) {
      const first = Math.min(...replacements.keys());
      let untouched = promptSize;
      let change = 0;
      for (const [index, segment] of replacements) {
        change += sizeOf(segment) - sizeOf(replaced.get(index) ?? segments[index]!);
        replaced.set(index, segment);
      }
      text = "";
      tokens = promptTokens?.slice();
      segments.forEach((segment, index) => {
        if (index < first) untouched += sizeOf(replaced.get(index) ?? segment);
        write(replaced.get(index) ?? segment);
      });
      const total = seen + fresh + change;
      seen = Math.min(seen, untouched);
      fresh = Math.max(0, total - seen);
    },
    isReplaced: (index: number) => replaced.has(index),
    /** Tokens the next call will send: as last counted, plus what was added since. */
    size: () => seen + fresh,
    /** Tokens of it that an earlier call has already processed. */
    seen: () => seen,
    /** The count of a finished call: what was sent, and what of its completion was kept. */
    counted(promptCount: number, keptCount: number) {
      seen = promptCount + keptCount;
      fresh = 0;
    },
  };
}

/** What the model sees, and how large it is. */
export type ChainContext = ReturnType<typeof chainContext>;
