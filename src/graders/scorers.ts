/**
 * The scorers by name: whose rule it is, how it decides in one sentence, and where this port differs on purpose. The
 * guide's table, `coa show benchmarks` and the summary of an evaluation are written from here.
 */
import type { TaskKind } from "../core/task.ts";

/** `official`: as the benchmark's authors score. `strict`: our own rule where the official one lets wrong answers through. */
export const scorings = ["official", "strict"] as const;
export type Scoring = (typeof scorings)[number];

export interface Scorer {
  kind: TaskKind;
  rule: string;
  /** What is different from the authors' program; absent where nothing is known to be. */
  differs?: string;
  /** What `strict` does instead. */
  strict?: string;
}

/** Every scorer a task may name; a task that names none has the first of its kind. */
export const scorers = {
  squad: {
    kind: "qa",
    rule: "exact match after SQuAD's normalisation; score = best F1",
    strict: "an answer of which the normalisation leaves nothing equals only itself",
  },
  hotpotqa: {
    kind: "qa",
    rule: "as squad; F1 of yes and no is all or nothing",
    strict: "an answer of which the normalisation leaves nothing equals only itself",
  },
  triviaqa: {
    kind: "qa",
    rule: "as squad, but signs part words instead of leaving no trace",
    strict: "an answer of which the normalisation leaves nothing equals only itself",
  },
  gaia: {
    kind: "gaia",
    rule: "numbers as numbers, lists in order, else without blanks, case and ASCII punctuation",
    strict: "what can't be read as a number equals no number; signs alone equal only themselves",
  },
  math: { kind: "math", rule: "the same mathematical object", differs: "own engine, not SymPy" },
  judge: { kind: "judge", rule: "a model decides by the prompt named" },
  tests: {
    kind: "code",
    rule: "every test passes; output compared line by line, ends of lines free; JSON values of calls",
    differs: "ours; used where a task names no scorer",
  },
  livecodebench: {
    kind: "code",
    rule: "the authors' imports and recursion limit in front; lines stripped, then as decimals; Python equality of results; stops at the first failing test",
    differs:
      "6 s of processor time per test, not of the clock; 4 GB per test; each test in a process of its own, not one function called again; results are compared outside it",
    strict: "as `tests`",
  },
  codecontests: {
    kind: "code",
    rule: "as livecodebench, on the public, private and generated tests",
    differs: "the problem's limit is meant for C++: Python gets at least 6 s of processor time per test",
    strict: "as `tests`, with the problem's own limit",
  },
} as const satisfies Record<string, Scorer>;

export type ScorerName = keyof typeof scorers;

/** The scorer of a task: the one it names where that fits its kind, else the first of its kind. */
export function scorerOf(task: { kind: TaskKind; scorer?: string }): ScorerName {
  const named = task.scorer as ScorerName | undefined;
  if (named !== undefined && scorers[named]?.kind === task.kind) return named;
  return (Object.keys(scorers) as ScorerName[]).find((name) =>
    task.kind === "code" ? name === "tests" : scorers[name].kind === task.kind,
  )!;
}
