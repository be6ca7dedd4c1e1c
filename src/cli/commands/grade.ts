import { fileLines } from "../../base/files/lines.ts";
import { UsageError } from "../../core/errors.ts";
import type { Grade } from "../../core/grader.ts";
import { type CodeTests, defineTask, type TaskKind } from "../../core/task.ts";
import { codeTests, taskKinds } from "../../core/task-schema.ts";
import { type Scorer, scorers } from "../../graders/scorers.ts";
import { trainingRow } from "../../tasks/benchmarks/code-rows.ts";
import { defineCommand, onePositional } from "../command.ts";
import { text } from "../setting.ts";
import { openGrader } from "./eval-grading.ts";

/** One line of input: what is right, and what was answered. */
interface Line {
  gold: unknown;
  answer?: string | null;
  question?: string;
}

export default defineCommand({
  summary: `Grade answers: JSONL { gold, answer } on stdin, JSONL { correct, reason } on stdout. Kinds: ${taskKinds.join(", ")}.`,
  arguments: "<kind>",
  examples: [
    `echo '{"gold":"1/2","answer":"\\\\boxed{0.5}"}' | coa grade math`,
    `coa grade qa < pairs.jsonl > grades.jsonl`,
    `echo '{"gold":{"inputs":["2\\n"],"outputs":["4\\n"]},"answer":"print(int(input())*2)"}' | coa grade code`,
  ],
  options: {
    scorer: text(`The benchmark's own rule: ${Object.keys(scorers).join(", ")}`, { valueName: "name", group: "model" }),
  },
  reads: ["judge", "grader"],
  async run({ values, settings, positionals, out, signal, session }) {
    const kind = onePositional(positionals, "a kind") as TaskKind;
    if (!taskKinds.includes(kind))
      throw new UsageError(`there is no grader "${kind}"; there are: ${taskKinds.join(", ")}`);
    const { scorer } = values;
    if (scorer !== undefined && (scorers as Record<string, Scorer>)[scorer]?.kind !== kind)
      throw new UsageError(`--scorer ${scorer} is not a rule of kind ${kind}`);
    const sample = defineTask({ id: "line", question: "?", kind, scorer });
    // For a kind that a model decides, the server of the environment is named by asking for that kind.
    const baseUrl = settings.judge.baseUrl ?? process.env["OPENAI_BASE_URL"];
    const judging = kind === "judge" ? { ...settings, judge: { ...settings.judge, baseUrl } } : settings;
    const graders = await openGrader(judging, session, [sample], { parts: "whole" });
    const grades: Grade[] = [];
    for await (const { line: number, text } of fileLines("standard input", { stream: process.stdin })) {
      if (text.trim() === "") continue;
      signal.throwIfAborted();
      const line = readLine(text, number);
      const { gold, answer = null, question = "?" } = line;
      const task = defineTask({
        id: `line-${number}`,
        question,
        kind: graders.tasks[0]!.kind,
        scorer,
        ...(kind === "code" ? { tests: testsOf(gold, number) } : { answers: goldsOf(gold) }),
      });
      const grade = await graders.grader(task, answer, { signal });
      if (values.json) grades.push(grade);
      else out.json(grade);
    }
    if (values.json) out.json(grades);
    return 0;
  },
});

function readLine(text: string, number: number): Line {
  try {
    const value = JSON.parse(text) as Line;
    if (value !== null && typeof value === "object" && "gold" in value) return value;
  } catch {
    // Said below.
  }
  throw new UsageError(`line ${number} of the input is not JSON with a gold and an answer: ${text.slice(0, 80)}`);
}

function goldsOf(gold: unknown): string[] {
  return (Array.isArray(gold) ? gold : [gold]).map(String);
}

function testsOf(gold: unknown, number: number): CodeTests {
  // LiveCodeBench names the function `fn_name` and writes one argument a line.
  const isTheirs = gold !== null && typeof gold === "object" && "fn_name" in gold;
  const parsed = codeTests.safeParse(isTheirs ? trainingRow(gold) : gold);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `line ${number}: for code the gold holds the tests: { inputs: [...], outputs: [...], functionName? } or LiveCodeBench's { inputs, outputs, fn_name }`,
  );
}
