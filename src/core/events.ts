/** What a running chain tells its listeners, in order, and what long work says of its progress. */
import type { CallUsage } from "./model.ts";
import type { Segment, Trajectory } from "./trajectory.ts";

export type ChainEvent =
  | { type: "chain-start"; trajectoryId: string; taskId: string; question: string; profile: string; model: string }
  | { type: "model-call"; call: number; usage: CallUsage }
  | { type: "segment-start"; index: number; tag: string; by: Segment["by"] }
  | { type: "segment-delta"; index: number; text: string }
  | { type: "segment-end"; index: number; segment: Segment }
  | { type: "tool-call"; callId: string; tool: string; input: unknown }
  | { type: "tool-result"; callId: string; tool: string; ok: boolean; output: string; ms: number }
  | { type: "format-error"; rule: string; message: string; segment: number }
  | { type: "compaction"; segments: number[]; tokensBefore: number; tokensAfter: number }
  | { type: "chain-end"; trajectory: Trajectory };

/** Progress of long work; `done` of `total`, with whatever figures matter to the stage. */
export type OnProgress = (event: {
  stage: string;
  done: number;
  total?: number;
  /** A list is a curve so far; a terminal draws it small. */
  figures?: Record<string, number | string | readonly number[]>;
}) => void;
