import { choice, list, text, toggle } from "../setting.ts";

/** Which tasks of a benchmark are run, and how. */
export const evaluation = {
  benchmark: text("Which benchmark the file holds (default: found from its name)"),
  families: list("Only tasks of this family"),
  levels: list("Only tasks of this level"),
  textOnly: toggle("Leave out tasks that come with a picture"),
  since: text("Only tasks published on this day or later, as 2024-08-01"),
  until: text("Only tasks published on this day or earlier"),
  tests: text("LiveCodeBench's release with all tests, joined by question id"),
  allowMissingGolds: toggle("Run a file in which answers are missing"),
  retryErrors: toggle("Run again what crashed earlier"),
  harness: choice(["afm"], "Run a chain as the evaluation of Agent Foundation Models does, for their published weights"),
  cache: text("Keep model and tool calls in this file, for exact re-runs"),
  cachedOnly: toggle("Answer every call from eval.cache; a missing one is an error"),
  blocklist: toggle("Keep pages that hold benchmark answers out", { default: true }),
} as const; // biome-ignore format: one setting a line
