/** Stages that shape the mix rather than judge: more reflection, more error correction. */

import type { TaskKind } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { readScore } from "../../language/judgement.ts";
import type { Stage } from "./stage.ts";
import { hashOf } from "./word-grams.ts";

/** A number in [0, 1) that depends on the trajectory alone, so that sampling repeats itself. */
export function shareOf(id: string, seed: number): number {
  // Two rounds: FNV's high bits change little between ids that differ in their last digit.
  return hashOf(`${hashOf(id)}:${seed}`, hashOf(String(seed))) / 4_294_967_296;
}

/** Kinds of tasks whose chains must reflect, as in the paper. */
const required: readonly TaskKind[] = ["math", "code"];

/** Keeps a share of the chains that never reflect, and drops those that must. */
export function reflectionStage(keepWithout = 0.5, seed = 0): Stage {
  return {
    name: "reflection",
    judge(trajectory, { task, profile }) {
      // A profile that has no reflection can't be asked for one.
      if (!profile.tags.some((tag) => tag.name === "reflection")) return null;
      if (trajectory.segments.some((segment) => segment.tag === "reflection" && segment.by === "model")) return null;
      if (task && required.includes(task.kind)) return { reason: "no reflection", detail: `a ${task.kind} task` };
      const value = shareOf(trajectory.id, seed);
      const measured = { measure: "drawn share", value, threshold: keepWithout };
      return value < keepWithout ? measured : { reason: "no reflection, sampled out", ...measured };
    },
  };
}

/** Whether a check scored low at first and the chain then corrected itself (the paper's error-correction samples). */
export function correctsItself(trajectory: Trajectory, lowScore = 2): boolean {
  const scores = trajectory.segments
    .filter((segment) => segment.tag === "double_check" && segment.by === "model")
    .map((segment) => readScore(segment.text) ?? 0);
  return scores.length > 1 && scores[0]! <= lowScore && scores.at(-1)! > lowScore;
}

/** Drops chains longer than a student's context. */
export function lengthStage(maxTokens: number): Stage {
  return {
    name: "length",
    judge(trajectory) {
      // Distilled chains carry their length; one sequence holds each token once.
      const tokens = trajectory.usage.computedTokens;
      const measured = { measure: "tokens", value: tokens, threshold: maxTokens };
      if (tokens <= maxTokens) return measured;
      return { reason: "too long", detail: `${tokens} tokens, at most ${maxTokens}`, ...measured };
    },
  };
}
