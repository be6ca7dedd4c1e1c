/** What a programming task says, read from its words alone: which problem, which form, and the example. */
import { type Form, type Problem, problems, type Value } from "./programs.ts";

export interface UnderstoodTask {
  problem: Problem;
  form: Form;
  example: { value: Value; result: string };
}

/** Reads a question; null where it is none of the lab's programming tasks. */
export function understandTask(question: string): UnderstoodTask | null {
  const said = /^(Read|Write) .+? (?:and print|that returns) (.+)\. Example: (.+) gives (\S*)\.$/.exec(question.trim());
  if (!said) return null;
  const [, verb, phrase = "", input = "", result = ""] = said;
  const numbers = (phrase.match(/\d+/g) ?? []).map(Number);
  const letter = /without (\w)/.exec(phrase)?.[1] ?? "a";
  // Coins and repetitions are made from a number that the words do not name, so candidates are tried.
  const candidates = [...numbers, ...Array.from({ length: 12 }, (_, n) => n)];
  for (const n of candidates) {
    const problem = problems(n, letter).find((one) => one.phrase === phrase);
    if (!problem) continue;
    const value =
      problem.takes === "numbers" ? input.split(" ").map(Number) : problem.takes === "number" ? Number(input) : input;
    return { problem, form: verb === "Read" ? "stdin" : "function", example: { value, result } };
  }
  return null;
}
