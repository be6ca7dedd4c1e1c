/**
 * Credit where the decision was. In a world of failing tools a chain's luck (which of its calls were struck) decides more than
 * what it wrote before; what it does after the first fault is what can be learned. Crediting only that learns several
 * times faster and leaves alone what the model does where nothing fails.
 */
import type { Trajectory } from "../core/trajectory.ts";

/** A fault that a chain met: the tool, and the number of the call among the chain's calls of that tool. */
export interface FaultMark {
  tool: string;
  call: number;
}

/** The trajectory with the faults it met, where `creditAfterFault` finds them. */
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
