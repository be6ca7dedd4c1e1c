/**
 * What the model sees: the prompt, and everything decoded so far, as text and (for models that work on tokens) as ids.
 * It grows by appending only, so that prefix caches hold, with one exception: compaction puts a shorter text in the place
 * of an old observation. The trajectory always keeps the original.
 */

import { messageTokens } from "../base/count/token-estimate.ts";
import type { Message } from "../core/message.ts";
import type { Model } from "../core/model.ts";
import { type Segment, writtenForm } from "../core/trajectory.ts";

export interface ChainContext {
  readonly prompt: readonly Message[];
  readonly promptTokens: readonly number[] | undefined;
  readonly segments: readonly Segment[];
  text(): string;
  tokens(): readonly number[] | undefined;
  /** Adds a segment by a tool or the runtime. */
  append(segment: Segment): void;
  /** Adds what the model wrote in a turn whose calls were already counted. */
  appendTurn(segments: readonly Segment[]): void;
  /** Shows other segments in the place of these. */
  replace(replacements: ReadonlyMap<number, Segment>): void;
  isReplaced(index: number): boolean;
  /** Tokens the next call will send: as last counted, plus what was added since. */
  size(): number;
  /** Tokens of it that an earlier call has already processed. */
  seen(): number;
  /** The count of a finished call: what was sent, and what of its completion was kept. */
  counted(promptTokens: number, keptTokens: number): void;
}

/** A context with only the prompt; `known` are its ids, where it was tokenised before. */
export function chainContext(
  prompt: readonly Message[],
  model: Model,
  count: (text: string) => number,
  known?: readonly number[],
): ChainContext {
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
    append(segment) {
      segments.push(segment);
      write(segment);
      fresh += sizeOf(segment);
    },
    appendTurn(turn) {
      for (const segment of turn) {
        segments.push(segment);
        write(segment);
      }
    },
    replace(replacements) {
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
    isReplaced: (index) => replaced.has(index),
    size: () => seen + fresh,
    seen: () => seen,
    counted(promptCount, keptCount) {
      seen = promptCount + keptCount;
      fresh = 0;
    },
  };
}
