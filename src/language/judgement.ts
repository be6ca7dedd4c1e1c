/**
 * What judges wrote, parsed: ratings, scores, and the prose beside them. The one place where a rating or a score is
 * read: the profile's gates, the validator, the team's rules and distillation all ask here.
 */
import type { TagSpec } from "../core/profile.ts";

/** The rating of each criterion, in the criteria's order; null where it is missing. Spaces and case do not matter. */
export function readRatings(text: string, criteria: readonly string[]): (string | null)[] {
  return criteria.map((criterion) => {
    const line = new RegExp(`${criterion}\\s*[:=-]\\s*\\**\\s*([A-Za-z]+)`, "i").exec(text);
    return line?.[1] ?? null;
  });
}

const namedScore = /score[^\d\n]{0,30}(\d+(?:\.\d+)?)/gi;

/**
 * The score that a text gives: the last number called a score; otherwise the last number of a single line; null where
 * several lines name none, because a number in prose can mean anything.
 */
export function readScore(text: string): number | null {
  const named = [...text.matchAll(namedScore)].at(-1)?.[1];
  if (named !== undefined) return Number(named);
  const numbers = text.match(/\d+(?:\.\d+)?/g);
  if (!numbers || (numbers.length > 1 && text.trim().includes("\n"))) return null;
  return Number(numbers.at(-1));
}

/** Prose of a review, and its ratings as the profile writes them; null where one is missing or unknown. */
export function readReview(text: string, tag: TagSpec | undefined): { prose: string; ratings: string | null } {
  if (tag?.body.kind !== "ratings") return { prose: "", ratings: null };
  const { criteria, values } = tag.body;
  const found = readRatings(text, criteria);
  const lines = criteria.map((criterion, index) => {
    const value = values.find((one) => one.toLowerCase() === found[index]?.toLowerCase());
    return value === undefined ? null : `${criterion} : ${value}`;
  });
  const prose = text
    .split("\n")
    .filter((line) => !criteria.some((criterion) => line.toLowerCase().includes(criterion.toLowerCase())))
    .join("\n");
  return { prose: prose.trim(), ratings: lines.includes(null) ? null : lines.join("\n") };
}

export function readVerdict(text: string): { prose: string; score: number | null } {
  const prose = text
    .split("\n")
    .filter((line) => line.search(namedScore) < 0)
    .join("\n");
  return { prose: /^\W*\d+\W*$/.test(prose) ? "" : prose.trim(), score: readScore(text) };
}
