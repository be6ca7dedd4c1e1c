/**
 * How the team's judges are read: ratings and scores inside what a model wrote. Lenient about the form, strict about
 * the meaning.
 */
import { readRatings, readScore } from "../language/judgement.ts";
import { reflectionCriteria } from "../language/profiles.ts";

export interface Review {
  ratings: Record<string, string>;
  /** Something was rated Poor: the plan must change. */
  poor: boolean;
}

/** The reflector's three ratings, or null where one is missing. */
export function readReview(text: string): Review | null {
  const ratings = readRatings(text, reflectionCriteria);
  if (ratings.some((rating) => rating === null)) return null;
  return {
    ratings: Object.fromEntries(reflectionCriteria.map((criterion, index) => [criterion, ratings[index]!])),
    poor: ratings.some((rating) => rating?.toLowerCase() === "poor"),
  };
}

/** The verifier's score from 1 to 4, or null where there is none. */
export function readVerdict(text: string): number | null {
  const score = readScore(text);
  return score !== null && score >= 1 && score <= 4 ? score : null;
}
