/**
 * Programs by their tests. Every test is run in a sandbox of its own and every test counts: the score is the share that
 * passed, and a solution is right only when all did. Expected outputs never enter the sandbox, so a program can't look
 * them up; a function's result comes back as JSON and is compared here, so an object that claims to equal everything
 * gains nothing.
 */
import { CoaError } from "../core/errors.ts";
import type { Grade } from "../core/grader.ts";
import { inParallel } from "../core/limiter.ts";
import type { Sandbox, SandboxResult } from "../core/sandbox.ts";
import type { CodeTests } from "../core/task.ts";

export interface CodeGradeOptions {
  sandbox: Sandbox;
  signal?: AbortSignal;
  /** Where a task names none. */
  timeLimitMs?: number;
  memoryLimitMb?: number;
  /** Tests at the same time. */
  concurrency?: number;
  outputCharacters?: number;
}

/** What one test did. */
export interface TestVerdict {
  test: number;
  verdict: "passed" | "wrong" | "timeout" | "memory" | "failed" | "crashed";
  detail: string;
}

/** Whether a program passes all of its tests. */
export async function gradeCode(tests: CodeTests, answer: string | null, options: CodeGradeOptions): Promise<Grade> {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const total = tests.inputs.length;
  if (total === 0 || tests.outputs.length !== total) {
    throw new CoaError(
      "grader",
      `a code task needs as many outputs as inputs, at least one: got ${total} and ${tests.outputs.length}`,
    );
  }
  const verdicts = await runTests(tests, answer, options);
  const passed = verdicts.filter((one) => one.verdict === "passed").length;
  const first = verdicts.find((one) => one.verdict !== "passed");
  const reason = first
    ? `${passed} of ${total} tests passed; test ${first.test + 1}: ${first.verdict}, ${first.detail}`
    : `all ${total} tests passed`;
  return { correct: passed === total, score: passed / total, reason };
}

/** Runs every test, each alone in the sandbox; verdicts come in the order of the tests whatever finished first. */
export async function runTests(tests: CodeTests, answer: string, options: CodeGradeOptions): Promise<TestVerdict[]> {
  const { code, language } = extractCode(answer);
  const { sandbox, signal, concurrency = 2 } = options;
  const timeLimitMs = tests.timeLimitMs ?? options.timeLimitMs ?? 6000;
  const limits = {
    cpuMs: timeLimitMs,
    wallMs: timeLimitMs * 2 + 2000,
    memoryMb: tests.memoryLimitMb ?? options.memoryLimitMb ?? 512,
    outputCharacters: options.outputCharacters ?? 1_000_000,
  };
  return inParallel(tests.inputs, concurrency, async (input, test) => {
    signal?.throwIfAborted();
    const request =
      tests.functionName === undefined
        ? { code, stdin: input }
        : { code: functionHarness(code, tests.functionName, language), stdin: argumentsText(input) };
    const result = await sandbox.run({ language, ...request, limits, signal });
    return { test, ...judge(tests, test, result) };
  });
}

function judge(tests: CodeTests, test: number, result: SandboxResult): Omit<TestVerdict, "test"> {
  if (result.verdict !== "ok") {
    const detail = result.stderr.trim().split("\n").at(-1)?.slice(0, 200) || `exit code ${result.exitCode}`;
    return { verdict: result.verdict, detail };
  }
  const wanted = tests.outputs[test]!;
  if (tests.functionName === undefined) {
    const correct = sameOutput(wanted, result.stdout);
    return {
      verdict: correct ? "passed" : "wrong",
      detail: correct ? "" : `printed ${clip(result.stdout)}, wanted ${clip(wanted)}`,
    };
  }
  const line = result.stdout.split("\n").findLast((text) => text.startsWith(resultMark));
  if (line === undefined) return { verdict: "failed", detail: "the function returned nothing that JSON can hold" };
  const correct = sameJson(line.slice(resultMark.length), wanted);
  return {
    verdict: correct ? "passed" : "wrong",
    detail: correct ? "" : `returned ${clip(line.slice(resultMark.length))}, wanted ${clip(wanted)}`,
  };
}

function clip(text: string): string {
  const shown = JSON.stringify(text.trim());
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
}

/** Line by line, letter by letter; only white space at line ends and empty lines at the end are free. */
export function sameOutput(wanted: string, printed: string): boolean {
  const lines = (text: string) =>
    text
      .replace(/\r\n/g, "\n")
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  return lines(wanted) === lines(printed);
}

/** Two JSON texts, with whole numbers of any length compared exactly. */
export function sameJson(a: string, b: string): boolean {
  try {
    return JSON.stringify(exactJson(a)) === JSON.stringify(exactJson(b));
  } catch {
    return a.trim() === b.trim();
  }
}

function exactJson(text: string): unknown {
  const revive = (_key: string, value: unknown, context: { source?: string }) => {
    if (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source ?? ""))
      return `whole:${context.source}`;
    if (value !== null && typeof value === "object" && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1)));
    return value;
  };
  return (JSON.parse as (text: string, reviver: typeof revive) => unknown)(text, revive);
}

/**
 * Arguments of a call as the text of one JSON array; they come as one array on one line, or as one value per line. Never
 * parsed and written again, because long whole numbers would not survive it.
 */
export function argumentsText(input: string): string {
  const lines = input.split("\n").filter((line) => line.trim() !== "");
  const single = lines.length === 1 && lines[0]!.trim().startsWith("[");
  return single ? lines[0]! : `[${lines.join(",")}]`;
}

/** The program in an answer: its last fenced block, or all of it where there is none. */
export function extractCode(answer: string): { code: string; language: "python" | "javascript" } {
  const blocks = [...answer.matchAll(/```[ \t]*([a-zA-Z+]*)[^\n]*\n([\s\S]*?)(?:```|$)/g)].filter(
    (match) => !/^(?:sh|bash|text|json)$/.test(match[1]!),
  );
  const last = blocks.findLast((match) => /^(?:py|python|python3|js|javascript)$/i.test(match[1]!)) ?? blocks.at(-1);
  const language = /^(?:js|javascript)$/i.test(last?.[1] ?? "") ? "javascript" : "python";
  return { code: (last?.[2] ?? answer).replace(/^\n+|\s+$/g, ""), language };
}

const resultMark = "\u0001result:";

/** The program followed by a call of its function (or method of `Solution`) with arguments from standard input. */
function functionHarness(code: string, name: string, language: "python" | "javascript"): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new CoaError("grader", `not a function name: ${JSON.stringify(name)}`);
  if (language === "javascript") {
    return `${code}\n;{ const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));\nconst call = typeof Solution === "function" ? (...args) => new Solution().${name}(...args) : ${name};\nconsole.log("\\n\\u0001result:" + JSON.stringify(call(...input) ?? null)); }\n`;
  }
  return `from typing import *
import json as _json, sys as _sys
import math, heapq, bisect, itertools, functools, collections, string, re, random, operator
from collections import *
from functools import *
from itertools import *
from heapq import *
from bisect import *
from math import *
from builtins import *
_arguments = _json.loads(_sys.stdin.read())
${code}

def _plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value

_call = Solution().${name} if "Solution" in globals() else ${name}
print("\\n\\x01result:" + _json.dumps(_plain(_call(*_arguments))))
`;
}
