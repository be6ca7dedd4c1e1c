import { choice, number, pairs, text, toggle, whole } from "../setting.ts";

/** Recordings of other systems, and how much a recorded run may use. */
export const record = {
  folder: text("Where recordings are kept (default: .coa/recordings)", { flag: "folder", valueName: "folder" }),
  maxCalls: whole("Max model calls in all", { min: 0 }),
  maxTokens: whole("Max tokens in all", { min: 0 }),
  maxCallsPerRun: whole("Max model calls per run", { min: 0 }),
  maxTokensPerRun: whole("Max tokens per run", { min: 0 }),
  maxUsdPerRun: number("Max dollars per run (needs --price)", { min: 0 }),
} as const; // biome-ignore format: one setting a line

/** How chains become examples of a dataset, and rows for other trainers. */
export const dataset = {
  overlong: choice(["drop", "cut"], "What to do with examples over --max-tokens; cut: at a segment border", { default: "drop" }),
  weights: pairs("Weight of a tag's segments: --set dataset.weights.think=0.5"),
  observationRole: choice(["user", "tool"], "Role of observations in exported chats", { default: "user" }),
  keepBroken: toggle("Import chains whose tags do not parse cleanly too"),
} as const; // biome-ignore format: one setting a line
