/**
 * What a served chain cost, as APIs report it: prompt and completion tokens of all its model calls, of which `cached` would
 * not be processed again by a prefix cache, and of the completion what was not the answer is reasoning.
 */
import { estimateTokens } from "../../core/token-estimate.ts";
import type { ServedEvent } from "../served-events.ts";

export interface ServedUsage {
  prompt: number;
  completion: number;
  cached: number;
  reasoning: number;
}

/** The figures of one request. */
export function servedUsage({ trajectory, usage }: Extract<ServedEvent, { type: "end" }>): ServedUsage {
  const { answer, segments } = trajectory;
  const last = segments.findLast((segment) => segment.by === "model" && segment.text.trim() === answer);
  const answered = last?.tokens?.length ?? (answer === null ? 0 : estimateTokens(answer));
  return {
    prompt: usage.promptTokens,
    completion: usage.completionTokens,
    cached: Math.max(0, Math.min(usage.promptTokens, usage.billedTokens - usage.computedTokens)),
    reasoning: Math.max(0, usage.completionTokens - answered),
  };
}
