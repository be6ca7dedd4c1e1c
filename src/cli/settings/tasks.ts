import { number, whole } from "../setting.ts";

/** How tasks are written and selected. */
export const tasks = {
  perDocument: whole("Questions about one document alone", { default: 2 }),
  depth: whole("How many look-ups deeper questions go", { default: 1, min: 0 }),
  width: number("Share of questions that are also merged with another", { default: 0.5, min: 0, max: 1 }),
  maxWithoutTools: number("Tasks answered more often without tools are dropped", { default: 0.3, min: 0, max: 1 }),
  minSolved: number("Tasks solved less often are too hard", { default: 0.01, min: 0, max: 1 }),
  maxSolved: number("Tasks solved more often are too easy for RL (default: 0.99; 1 for a team)", { min: 0, max: 1 }),
} as const; // biome-ignore format: one setting a line
