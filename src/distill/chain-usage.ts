/**
 * What a chain costs when a model decodes it. Computed: every token once, as one sequence in a cache. Billed: a server
 * without a cache charges, for each turn, everything before it and what is written. Tool time is not known here.
 */

import { type CountTokens, estimateTokens, messageTokens } from "../base/count/token-estimate.ts";
import type { Message } from "../core/message.ts";
import { type Segment, writtenForm } from "../core/trajectory.ts";
import { emptyUsage, type Usage } from "../core/usage.ts";

/** Tokens and calls of a chain. */
export function chainUsage(
  prompt: readonly Message[],
  segments: readonly Segment[],
  countTokens: CountTokens = estimateTokens,
): Usage {
  const usage = emptyUsage();
  let context = prompt.reduce((sum, message) => sum + messageTokens(message, countTokens), 0);
  usage.computedTokens = context;
  let writing = false;
  for (const segment of segments) {
    const tokens = segment.tokens?.length ?? countTokens(writtenForm(segment));
    usage.computedTokens += tokens;
    if (segment.by === "model") {
      if (!writing) {
        usage.modelCalls++;
        usage.promptTokens += context;
      }
      usage.completionTokens += tokens;
    } else if (segment.by === "tool") usage.toolCalls++;
    writing = segment.by === "model";
    context += tokens;
  }
  usage.billedTokens = usage.promptTokens + usage.completionTokens;
  return usage;
}
