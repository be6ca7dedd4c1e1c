/** A chain as the browser draws it: its segments in order, where each came from, and every step that it does not show. */

import type { Around } from "../../base/files/record-kind.ts";
import type { FilterDecision } from "../../core/chain-marks.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { type CutText, cutText } from "./cut-text.ts";

export interface SegmentView {
  index: number;
  tag: string;
  by: "model" | "tool" | "runtime";
  text: CutText;
  /** The step of the team it came from. */
  from?: { agent: string; step: string };
  /** Written by the distiller, not found in the recording. */
  filled?: boolean;
  call?: { tool: string; ok: boolean; ms: number; repeated?: boolean; cutCharacters?: number; input: CutText };
  start?: number;
  end?: number;
  tokens?: number;
  /** Mean log-probability of its tokens, where they were sampled. */
  meanLogprob?: number;
}

export interface ChainView {
  id: string;
  taskId: string;
  model: string;
  profile: string;
  family?: string;
  prompt: { role: string; text: CutText }[];
  segments: SegmentView[];
  answer: CutText | null;
  ending: Trajectory["ending"];
  usage: Trajectory["usage"];
  violations: Trajectory["violations"];
  reward?: number;
  runId?: string;
  distilled?: Trajectory["distilled"];
  leftOut: NonNullable<Trajectory["leftOut"]>;
  decisions: FilterDecision[];
  around?: Around;
  rollout?: Trajectory["rollout"];
  /** Whether it has token ids, so that the tokens can be shown. */
  hasTokens: boolean;
  compactions: number;
}

/** The view of a chain. */
export function chainView(chain: Trajectory, around?: Around): ChainView {
  return {
    id: chain.id,
    taskId: chain.taskId,
    model: chain.model,
    profile: chain.profile,
    family: chain.family,
    prompt: chain.prompt.map(({ role, content }) => ({ role, text: cutText(content) })),
    segments: chain.segments.map((segment, index): SegmentView => {
      const { tag, by, text, from, filled, call, startedAt, endedAt, tokens, logprobs } = segment;
      return {
        index,
        tag,
        by,
        text: cutText(text),
        ...(from && { from }),
        ...(filled && { filled }),
        ...(call && {
          call: {
            tool: call.tool,
            ok: call.ok,
            ms: call.ms,
            repeated: call.repeated,
            cutCharacters: call.cutCharacters,
            input: cutText(typeof call.input === "string" ? call.input : JSON.stringify(call.input), 2_000),
          },
        }),
        start: startedAt,
        end: endedAt,
        ...(tokens && { tokens: tokens.length }),
        ...(logprobs &&
          logprobs.length > 0 && { meanLogprob: logprobs.reduce((sum, one) => sum + one, 0) / logprobs.length }),
      };
    }),
    answer: chain.answer === null ? null : cutText(chain.answer),
    ending: chain.ending,
    usage: chain.usage,
    violations: chain.violations,
    reward: around?.reward ?? chain.reward,
    ...(chain.source?.kind === "distilled" && chain.source.id !== undefined && { runId: chain.source.id }),
    distilled: chain.distilled,
    leftOut: chain.leftOut ?? [],
    decisions: chain.decisions ?? [],
    around,
    rollout: chain.rollout,
    hasTokens: chain.segments.some((segment) => segment.tokens !== undefined),
    compactions: chain.compactions?.length ?? 0,
  };
}
