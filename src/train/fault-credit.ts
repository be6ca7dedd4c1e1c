/**
 * Credit for what was written after a fault. Where tools fail, chance (which of a chain's calls fail) decides more than
 * what the chain wrote before; what it does after the first fault is what can be learned. Crediting only that learns
 * several times faster and leaves alone what the model does where nothing fails.
 */
import type { Trajectory } from "../core/trajectory.ts";

/** A fault in a chain: the tool, and the number of the call among the chain's calls of that tool. */
export interface FaultMark {
  tool: string;
  call: number;
}

/** The trajectory with its faults, where `creditAfterFault` finds them. */
export function withFaultMarks(trajectory: Trajectory, faults: readonly FaultMark[]): Trajectory {
  return faults.length === 0 ? trajectory : { ...trajectory, meta: { ...trajectory.meta, faults } };
}

/** Index of the observation of the first fault; the length of the chain where nothing failed. */
export function creditAfterFault({ segments, meta }: Trajectory): number {
  const [first] = (meta?.["faults"] as FaultMark[] | undefined) ?? [];
  if (!first) return segments.length;
  let seen = 0;
  const at = segments.findIndex(({ call }) => call?.tool === first.tool && seen++ === first.call);
  return at === -1 ? segments.length : at;
}
