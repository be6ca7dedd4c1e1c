/** The score that a chain's last check gave its answer. */
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { readScore } from "../language/judgement.ts";

/** The score of the last check; undefined where the profile has none or the chain wrote none. */
export function checkScore(profile: Profile, { segments }: Pick<Trajectory, "segments">): number | undefined {
  const checks = new Set(profile.tags.flatMap(({ name, body }) => (body.kind === "score" ? [name] : [])));
  const last = segments.findLast((segment) => segment.by === "model" && checks.has(segment.tag));
  return (last && readScore(last.text)) ?? undefined;
}
