/** What a distillation did, as data: what reports draw and the studio shows. */
import type { Trajectory } from "../core/trajectory.ts";

/** Tokens of kept chains beside what the teams spent on the same tasks, for one topology. */
export interface TokenReport {
  topology: string;
  chains: number;
  team: { billed: number; computed: number };
  chain: { billed: number; computed: number };
}

/** A chain that was dropped, shown as an example. */
export interface DroppedSample {
  stage: string;
  id: string;
  reason: string;
  detail?: string;
  /** The chain, where one was made. */
  trajectory?: Trajectory;
}

export interface DistillReport {
  version: 1;
  profile: string;
  inputs: readonly string[];
  records: number;
  /** How many chains entered each stage and left it, by reason, most frequent first. */
  stages: { name: string; entered: number; dropped: number; reasons: Record<string, number> }[];
  kept: number;
  /** Further copies of chains that correct themselves. */
  copies: number;
  written: number;
  reflecting: number;
  correcting: number;
  filledThoughts: number;
  /** @internal */
  tokens: TokenReport[];
  hops: Record<string, number>;
  tools: Record<string, number>;
  families: Record<string, { entered: number; kept: number }>;
  /** Kept chains by how it is known that they are right: graded (by feedback, by judge), by their reward, or only assumed. */
  right: Record<"graded" | "rewarded" | "assumed" | "not asked", number> & Record<string, number>;
  /** Every record that was dropped, with its reason; the first so many where there are more. */
  dropped: { id: string; taskId: string; stage: string; reason: string; detail?: string }[];
  problems: { file: string; line: number; id: string; stage: string; message: string }[];
  problemCount: number;
  /** @internal */
  samples: DroppedSample[];
}
