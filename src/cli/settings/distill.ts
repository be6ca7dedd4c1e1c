import { choice, list, number, pairs, text, toggle, whole } from "../setting.ts";

/** How runs become chains worth learning from. */
export const distill = {
  fill: toggle("Fill in thoughts and checks that the profile wants and the recording lacks (never trained on)", { flag: "fill" }),
  filters: list("Your own filters (a TypeScript module)", { flag: "filter", valueName: "module" }),
  evalQuestions: list("Evaluation questions that must not leak", { flag: "eval", valueName: "file" }),
  layout: choice(["compact", "paper"], "White space around observations (default: the profile's)"),
  toolTags: pairs("Tag for a foreign tool's name: --set distill.toolTags.lookup=web_search"),
  minInteractions: number("Min interactions of a chain (default: 5; 2 with a profile made from the recording)", { min: 0 }),
  keepWithoutReflection: number("Share of chains without reflection to keep", { default: 0.5, min: 0, max: 1 }),
  copies: whole("How often to write chains that correct themselves", { default: 2 }),
  nearDuplicates: number("Similarity above which a chain is a duplicate", { default: 0.95, min: 0 }),
  balance: number("Max size of a family, in sizes of the median one", { min: 0 }),
  blockUrls: list("Addresses that a chain must not touch"),
  skip: list("Stages to leave out"),
  baseUrl: text("Server of these two models (default: OPENAI_BASE_URL)"),
  workers: whole("Worker threads (default: cores - 1)", { min: 0 }),
} as const; // biome-ignore format: one setting a line
