/** How sure a chain was: the score that its last check gave the answer, and how probable it was that this score was written. */
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { readScore } from "../language/judgement.ts";

/** The score of the last check; undefined where the profile has none or the chain wrote none. */
export function checkScore(profile: Profile, trajectory: Pick<Trajectory, "segments">): number | undefined {
  return lastCheck(profile, trajectory)?.score;
}

/**
 * The score with the probability it was written with: a 4 of low probability is nearly a 3, a 3 of low probability nearly a 4.
 * Undefined where there is no score, or where the model did not tell its log-probabilities.
 */
export function checkSureness(profile: Profile, trajectory: Pick<Trajectory, "segments">): number | undefined {
  const { score, max, logprobs } = lastCheck(profile, trajectory) ?? {};
  if (score === undefined || !logprobs || logprobs.length === 0) return undefined;
  return sureScore(score, Math.exp(logprobs.reduce((sum, logprob) => sum + logprob, 0)), max);
}

/** A score moved towards its neighbour by the chance that it would not have been written. */
export function sureScore(score: number, probability: number, max = 4): number {
  return score >= max ? score - 1 + probability : score + 1 - probability;
}

function lastCheck(profile: Profile, { segments }: Pick<Trajectory, "segments">) {
  const highest = new Map(profile.tags.flatMap(({ name, body }) => (body.kind === "score" ? [[name, body.max]] : [])));
  const last = segments.findLast((segment) => segment.by === "model" && highest.has(segment.tag));
  return last && { score: readScore(last.text) ?? undefined, max: highest.get(last.tag), logprobs: last.logprobs };
}
