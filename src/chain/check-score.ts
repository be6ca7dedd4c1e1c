/** How sure a chain was: the score that its last check gave the answer. */
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { readScore } from "../language/judgement.ts";

/** The score of the last check; undefined where the profile has none or the chain wrote none. */
export function checkScore(profile: Profile, trajectory: Pick<Trajectory, "segments">): number | undefined {
  const checks = new Set(profile.tags.filter((tag) => tag.body.kind === "score").map((tag) => tag.name));
  const last = trajectory.segments.findLast((segment) => segment.by === "model" && checks.has(segment.tag));
  return last ? (readScore(last.text) ?? undefined) : undefined;
}
