/** A chain as the browser draws it: its segments in order, where each came from, and every step that it does not show. */
import type { Around } from "../../base/files/record-kind.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { type CutText, cutText } from "./cut-text.ts";

/** A segment; its tokens are only counted. */
export interface SegmentView extends Pick<Segment, "tag" | "by" | "from" | "filled"> {
  index: number;
  text: CutText;
  call?: Omit<NonNullable<Segment["call"]>, "input">;
  start?: number;
  end?: number;
  tokens?: number;
  /** Mean log-probability of its tokens, where they were sampled. */
  meanLogprob?: number;
}

export interface ChainView
  extends Pick<Trajectory, "id" | "taskId" | "model" | "profile" | "family" | "ending" | "usage" | "violations"> {
  prompt: { role: string; text: CutText }[];
  segments: SegmentView[];
  answer: CutText | null;
  reward?: number;
  runId?: string;
  leftOut: NonNullable<Trajectory["leftOut"]>;
  /** Whether it has token ids, so that the tokens can be shown. */
  hasTokens: boolean;
}

/** The view of a chain. */
export function chainView(chain: Trajectory, around?: Around): ChainView {
  const { id, taskId, model, profile, family, ending, usage, violations, leftOut = [] } = chain;
  const told = { id, taskId, model, profile, family, ending, usage, violations, leftOut };
  return {
    ...told,
    prompt: chain.prompt.map(({ role, content }) => ({ role, text: cutText(content) })),
    segments: chain.segments.map(segmentView),
    answer: chain.answer === null ? null : cutText(chain.answer),
    reward: around?.reward ?? chain.reward,
    ...(chain.source?.kind === "distilled" && chain.source.id !== undefined && { runId: chain.source.id }),
    hasTokens: chain.segments.some((segment) => segment.tokens !== undefined),
  };
}

function segmentView(segment: Segment, index: number): SegmentView {
  const { tag, by, from, filled, call, text, startedAt: start, endedAt: end, tokens, logprobs = [] } = segment;
  const { input: _input, ...receipt } = call ?? {};
  const told = { index, tag, by, from, filled, start, end };
  return {
    ...told,
    text: cutText(text),
    ...(call && { call: receipt as SegmentView["call"] }),
    ...(tokens && { tokens: tokens.length }),
    ...(logprobs.length > 0 && { meanLogprob: logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length }),
  };
}
