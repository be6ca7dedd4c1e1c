/**
 * The chain of the lab: a part of the `multi` profile for a model of a few million parameters. The order of roles and
 * both gates are the same; code is one bare line, and the score is written short.
 */
import { defineProfile, type Profile, type TagSpec } from "../language/profile.ts";
import { multiProfile } from "../language/profiles.ts";

const kept = ["plan", "web_search", "crawl_page", "code", "reflection", "suggested_answer", "double_check", "answer"];

function cut(tag: TagSpec): TagSpec {
  const next = tag.next.filter((name) => kept.includes(name));
  if (tag.name === "code") return { ...tag, next, body: { kind: "code", fence: null, stdin: false } };
  if (tag.name === "double_check") return { ...tag, next, body: { kind: "score", phrase: "score ", min: 1, max: 4 } };
  return { ...tag, next };
}

/** The tags, order and gates of lab chains. */
export const labProfile: Profile = defineProfile({
  ...multiProfile,
  name: "lab",
  style: { layout: "compact", maxCharacters: 800 },
  purpose: "Answer questions about a small made-up world with the help of search, pages and programs.",
  start: ["plan"],
  tags: multiProfile.tags.filter((tag) => kept.includes(tag.name)).map(cut),
});

/** The same with two calls in one turn: look-ups that do not depend on each other are made together. */
export const wideLabProfile: Profile = defineProfile({ ...labProfile, name: "lab-wide", maxParallelCalls: 2 });
