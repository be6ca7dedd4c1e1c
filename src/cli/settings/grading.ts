import { choice, text, toggle } from "../setting.ts";

/** The model that judges answers to open questions. */
export const judge = {
  prompt: text("Judge prompt: own, afm, afm-train, hle, browsecomp, simpleqa, webwalker, or a file with {question}, {gold} and {answer} (default: the benchmark's)", { flag: "judge", valueName: "name|file" }),
  model: text("Model that judges answers to open questions", { flag: "judge-model", valueName: "name" }),
  baseUrl: text("The judge's OpenAI-compatible server (default: OPENAI_BASE_URL)", { flag: "judge-url", valueName: "url" }),
} as const; // biome-ignore format: one setting a line

/** How answers are graded. */
export const grader = {
  scoring: choice(["official", "strict"], "The benchmark's own rule, or ours", { default: "official" }),
  judgeAll: toggle("Let the judge decide every task, whatever its own rule"),
  parts: choice(["first", "every", "whole"], "Which part of an answer `a | b` counts (default: first)"),
  allTests: toggle("Run every test of a program, also after one failed"),
} as const; // biome-ignore format: one setting a line
