/** A chain as the browser draws it: its segments in order, where each came from, and every step that it does not show. */
import type { Around } from "../../base/files/record-kind.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { cutText } from "./cut-text.ts";

export function chainView(chain: Trajectory, around?: Around) {
  const { id, taskId, model, profile, family, ending, usage, violations, leftOut = [] } = chain;
  const told = { id, taskId, model, profile, family, ending, usage, violations, leftOut };
  return {
    ...told,
    prompt: chain.prompt.map(({ role, content }) => ({ role, text: cutText(content) })),
    segments: chain.segments.map(segmentView),
    answer: chain.answer === null ? null : cutText(chain.answer),
    reward: around?.reward ?? chain.reward,
    ...(chain.source?.kind === "distilled" && chain.source.id !== undefined && { runId: chain.source.id }),
    /** Whether it has token ids, so that the tokens can be shown. */
    hasTokens: chain.segments.some((segment) => segment.tokens !== undefined),
  };
}

/** A chain as the browser draws it. */
export type ChainView = ReturnType<typeof chainView>;

/** A segment; its tokens are only counted. */
export type SegmentView = ReturnType<typeof segmentView>;

function segmentView(segment: Segment, index: number) {
  const { tag, by, from, filled, call, text, startedAt: start, endedAt: end, tokens, logprobs = [] } = segment;
  const { input: _input, ...receipt } = call ?? {};
  const told = { index, tag, by, from, filled, start, end };
  return {
    ...told,
    text: cutText(text),
    ...(call && { call: receipt as Omit<typeof call, "input"> }),
    ...(tokens && { tokens: tokens.length }),
    /** Mean log-probability of its tokens, where they were sampled. */
    ...(logprobs.length > 0 && { meanLogprob: logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length }),
  };
}
