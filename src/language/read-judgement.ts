/** What judges wrote, taken apart: the prose, which becomes a thought, and the rating or score in the profile's own form. */
import { readRatings, type TagSpec } from "./profile.ts";

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

/** Prose of a verification, and its score; the last one named counts. */
export function readVerdict(text: string): { prose: string; score: number | null } {
  const named = [...text.matchAll(/score[^\d\n]{0,30}(\d+)/gi)].at(-1)?.[1] ?? /^\D*(\d+)\D*$/.exec(text)?.[1];
  const prose = text
    .split("\n")
    .filter((line) => !/score[^\d\n]{0,30}\d/i.test(line))
    .join("\n");
  return { prose: /^\W*\d+\W*$/.test(prose) ? "" : prose.trim(), score: named === undefined ? null : Number(named) };
}
