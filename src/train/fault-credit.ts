/**
 * Credit for what was written after a fault. Where tools fail, chance (which of a chain's calls fail) decides more than
 * what the chain wrote before; what it does after the first fault is what can be learned. Crediting only that learns
 * several times faster and leaves alone what the model does where nothing fails.
 */
import type { Trajectory } from "../core/trajectory.ts";

/** Index of the observation of the first fault; the length of the chain where nothing failed. */
export function creditAfterFault({ segments }: Trajectory): number {
  const at = segments.findIndex(({ call }) => call?.fault !== undefined);
  return at === -1 ? segments.length : at;
}
