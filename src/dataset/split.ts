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
  seed?: number;
}

/** What is split as one: a session with all its turns, else a task with all its runs. */
export function splitKey(record: { session?: string; taskId?: string; id: string }): string {
  return record.session ?? record.taskId ?? record.id;
}

/** Exactly so many of the tasks or sessions for testing: those whose hashes come first. */
export function splitExactly(keys: Iterable<string>, test: number, seed = 0): ReadonlySet<string> {
  const placed = [...new Set(keys)].map((key) => ({ key, place: placeOf(key, seed) }));
  return new Set(
    placed
      .sort((a, b) => a.place - b.place)
      .slice(0, test)
      .map(({ key }) => key),
  );
}

/** Which side a task or session belongs to. */
export function splitSide(taskId: string, options: SplitOptions): Side {
  const { validation, test = 0, seed = 0 } = options;
  if (!(validation >= 0 && test >= 0 && validation + test <= 1)) {
    throw new RangeError(`shares must lie between 0 and 1 together: validation ${validation}, test ${test}`);
  }
  const place = placeOf(taskId, seed);
  if (place < validation) return "validation";
  return place < validation + test ? "test" : "train";
}

/** A key's own number from 0 to 1. */
function placeOf(key: string, seed: number): number {
  return createHash("sha256").update(`${seed}\n${key}`).digest().readUInt32BE(0) / 4_294_967_296;
}
