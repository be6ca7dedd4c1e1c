/** How fast answers are graded: mathematics over the labelled pairs, short answers, and one program test in the sandbox. */
import { readFile } from "node:fs/promises";
import type { Figure } from "../scripts/bench.ts";
import { gradeCode } from "../src/graders/code/grade-code.ts";
import { gradeQa } from "../src/graders/grade-qa.ts";
import { gradeMath } from "../src/graders/math/grade-math.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../src/tools/sandbox/bubblewrap.ts";

interface Pair {
  gold: string;
  answer: string;
  correct: boolean;
}

/** Answers per second of each grader, and the share of labelled pairs that the math grader agrees with. */
export default async function bench(): Promise<Figure[]> {
  const text = await readFile(new URL("../test/fixtures/math-pairs.jsonl", import.meta.url), "utf8");
  const pairs = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Pair);
  await gradeMath(["1"], "1.0"); // loads the engine
  let agreed = 0;
  const mathSeconds = await seconds(async () => {
    for (const { gold, answer, correct } of pairs) if ((await gradeMath([gold], answer)).correct === correct) agreed++;
  });
  const golds = Array.from({ length: 5 }, (_, i) => `The gold answer number ${i}`);
  const rounds = 20_000;
  const qaSeconds = await seconds(async () => {
    for (let i = 0; i < rounds; i++) gradeQa(golds, `gold answer number ${i % 10}`);
  });
  const figures: Figure[] = [
    { name: "math, answers", value: pairs.length / mathSeconds, unit: "1/s" },
    {
      name: "math, agreement with labels",
      value: (100 * agreed) / pairs.length,
      unit: "%",
      target: ">= 95",
      met: agreed / pairs.length >= 0.95,
    },
    { name: "short answers, five golds", value: rounds / qaSeconds, unit: "1/s" },
  ];
  if (bubblewrapProblem() !== undefined) return figures;
  const sandbox = bubblewrapSandbox({ warm: 2 });
  try {
    const tests = {
      inputs: Array.from({ length: 40 }, (_, i) => `${i}\n`),
      outputs: Array.from({ length: 40 }, (_, i) => `${2 * i}\n`),
    };
    const codeSeconds = await seconds(() => gradeCode(tests, "print(2 * int(input()))", { sandbox }));
    figures.push({ name: "program tests, each in its own sandbox", value: 40 / codeSeconds, unit: "1/s" });
  } finally {
    await sandbox.close();
  }
  return figures;
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
