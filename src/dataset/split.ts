/**
 * Splits by the session or task, not by the line: all trajectories of one task, and all turns of one session, are on
 * the same side, whatever file they come from and in whatever order, because the side is a hash of its id. A model is
 * never validated on what it was taught.
 */
import { createHash } from "node:crypto";

export type Side = "train" | "validation" | "test";

export interface SplitOptions {
  /** Share of tasks, 0 to 1. */
  validation: number;
  test?: number;
  /** Another seed gives another split. */
  seed?: number;
}

/** What is split as one: a session with all its turns, else a task with all its runs. */
export function splitKey(record: { session?: string; taskId?: string; id: string }): string {
  return record.session ?? record.taskId ?? record.id;
}

/** Which side a task or session belongs to. */
export function splitSide(taskId: string, options: SplitOptions): Side {
  const { validation, test = 0, seed = 0 } = options;
  if (!(validation >= 0 && test >= 0 && validation + test <= 1)) {
    throw new RangeError(`shares must lie between 0 and 1 together: validation ${validation}, test ${test}`);
  }
  const digest = createHash("sha256").update(`${seed}\n${taskId}`).digest();
  const place = digest.readUInt32BE(0) / 4_294_967_296;
  if (place < validation) return "validation";
  return place < validation + test ? "test" : "train";
}
