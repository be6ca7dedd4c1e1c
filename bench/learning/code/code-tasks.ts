/**
 * Programming tasks with tests: read and print, or a function; numbers, words and small dynamic programming. The
 * numbers and letters of test tasks occur in no training task, and some kinds are asked only in tests: pairs of parts
 * that training shows only separately.
 */

import { type SeededRandom, seededRandom } from "../../../src/base/work/random.ts";
import { UsageError } from "../../../src/core/errors.ts";
import { defineTask, type Task } from "../../../src/core/task.ts";
import { type Split, splitNumber } from "../../../src/lab/names.ts";
import { type Form, type Problem, problems, type Value } from "./programs.ts";

/** Kinds that no training task is of. */
export const heldOutKinds: readonly string[] = [
  "count-odd",
  "largest-below",
  "smallest-multiples",
  "sum-even",
  "reversed-repeated",
  "without-capitals",
];

export interface CodeTaskOptions {
  count: number;
  /** `train` by default. */
  split?: Split;
  /** `known` (the default) are the kinds of training, `held-out` the others. */
  kinds?: "known" | "held-out";
  seed?: number;
  /** Hidden tests of a task; 3 by default. */
  tests?: number;
}

/** Makes programming tasks, no question twice. */
export function codeTasks(options: CodeTaskOptions): Task[] {
  const { count, split = "train", kinds = "known", seed = 0, tests = 3 } = options;
  if (split === "train" && kinds === "held-out")
    throw new UsageError("held-out kinds are for tests: ask for split test, or for the known kinds");
  const random = seededRandom("code-tasks", seed, split, kinds);
  const tasks: Task[] = [];
  const seen = new Set<string>();
  for (let tries = 0; tasks.length < count; tries++) {
    if (tries > count * 200 + 1_000)
      throw new UsageError(`there are only ${tasks.length} different tasks of these kinds; ask for fewer`);
    const number = splitNumber(random, split, 3, 60);
    const letter = random.pick(split === "train" ? trainLetters : testLetters);
    const fitting = problems(number, letter).filter(
      (one) => heldOutKinds.includes(one.kind) === (kinds === "held-out"),
    );
    const problem = random.pick(fitting);
    const form: Form = random.next() < 0.5 ? "stdin" : "function";
    const example = exampleOf(problem, number, letter, wordLetters[split], random);
    const question = questionText(problem, form, example);
    if (seen.has(question)) continue;
    seen.add(question);
    const values = Array.from({ length: tests }, () => exampleOf(problem, number, letter, wordLetters[split], random));
    tasks.push(
      defineTask({
        id: `code-${split}-${seed}-${tasks.length}-${problem.kind}-${form}`,
        question,
        kind: "code",
        family: problem.kind,
        tests: {
          ...(form === "function" && { functionName: "f" }),
          inputs: values.map((value) => (form === "stdin" ? shown(value) : JSON.stringify([value]))),
          outputs: values.map((value) => answerText(problem.solve(value), form)),
        },
        source: "lab",
      }),
    );
  }
  return tasks;
}

// Many letters in training: with a few, a small model learns which letters are taken out instead of copying the one that is named.
const testLetters = [..."inul"];
const trainLetters = [..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !testLetters.includes(letter));
/** What words are made of; those of training have all letters. */
const wordLetters = { train: [...trainLetters, ...testLetters], test: [..."abdeimnorstu"] };

function answerText(result: string | number, form: Form): string {
  return form === "stdin" ? String(result) : JSON.stringify(result);
}

/** A value as a line of input. */
export function shown(value: Value): string {
  return typeof value === "object" ? value.join(" ") : String(value);
}

/** The question on one line, with an example that shows mistakes at borders. */
function questionText(problem: Problem, form: Form, example: Value): string {
  const asked =
    form === "stdin" ? `Read ${given[problem.takes]} and print` : `Write f(${short[problem.takes]}) that returns`;
  return `${asked} ${problem.phrase}. Example: ${shown(example)} gives ${problem.solve(example)}.`;
}

const given = { numbers: "numbers", word: "a word", number: "n" } as const;
const short = { numbers: "a", word: "s", number: "n" } as const;

/** A value to try a program on: numbers around the border, words that hold the letter; sometimes nothing is selected. */
function exampleOf(
  { takes }: Problem,
  n: number,
  letter: string,
  alphabet: readonly string[],
  random: SeededRandom,
): Value {
  if (takes === "number") return 4 + random.below(9);
  if (takes === "word") {
    const letters = Array.from({ length: 3 + random.below(3) }, () => random.pick(alphabet));
    letters.splice(random.below(letters.length), 0, letter);
    return letters.join("");
  }
  const near = () => Math.max(1, n + random.below(9) - 4);
  const small = () => 1 + random.below(9);
  const numbers = [random.next() < 0.5 ? n : near(), near(), small()];
  return random.shuffle(random.next() < 0.3 ? numbers.slice(0, 2) : numbers);
}
