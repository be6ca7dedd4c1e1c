/**
 * Programs by their tests, each test alone in a sandbox. Expected outputs never enter the process of the answer, so a
 * program can't look them up, and an object that claims to equal everything gains nothing. What this sandbox can't run
 * (deep recursion or threads in WebAssembly, a library that is not installed) is undecided with the reason, never
 * wrong.
 */

import { fencedBlocks } from "../../base/text/fences.ts";
import { inParallel } from "../../base/work/limiter.ts";
import { CoaError } from "../../core/errors.ts";
import type { Grade } from "../../core/grader.ts";
import type { Sandbox, SandboxLevel, SandboxRequest, SandboxResult } from "../../core/sandbox.ts";
import type { CodeTests } from "../../core/task.ts";
import type { Scoring } from "../scorers.ts";
import { callHarness, checkerHarness, programHarness, resultMark } from "./python-harness.ts";
import { decodeValue, jsonValue, pythonEquals } from "./python-value.ts";
import { rightOutput } from "./same-output.ts";

export interface CodeGradeOptions {
  sandbox: Sandbox;
  signal?: AbortSignal;
  /** `official` grades as LiveCodeBench's own runner; `strict` (the default) runs and compares the answer as it is. */
  scoring?: Scoring;
  /** Run every test, or stop at the first that fails; stopping is the official way and the default there. */
  tests?: "all" | "first-failure";
  /** Tests at the same time. */
  concurrency?: number;
}

/** What one test did. */
export interface TestVerdict {
  test: number;
  verdict: "passed" | "wrong" | "timeout" | "memory" | "failed" | "crashed" | "undecided";
  detail: string;
}

/** Processor time of one test where neither task nor caller says: LiveCodeBench's. */
export const defaultTimeLimitMs = 6000;

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
  const failed = verdicts.find((one) => one.verdict !== "passed" && one.verdict !== "undecided");
  const open = verdicts.find((one) => one.verdict === "undecided");
  const shown = failed ?? open;
  const reason = shown
    ? `${passed} of ${total} tests passed; test ${shown.test + 1}: ${shown.verdict}, ${shown.detail}`
    : `all ${total} tests passed`;
  // One test that failed decides, whatever another could not say.
  return { correct: failed ? false : open ? null : true, score: passed / total, reason };
}

/** Runs the tests, each alone in the sandbox; verdicts come in the order of the tests whatever finished first. */
export async function runTests(tests: CodeTests, answer: string, options: CodeGradeOptions): Promise<TestVerdict[]> {
  const { sandbox, signal, concurrency = 2, scoring = "strict" } = options;
  const { code, language } = extractCode(answer);
  const official = scoring === "official";
  const stopEarly = (options.tests ?? (official ? "first-failure" : "all")) === "first-failure";
  const { level } = sandbox;
  const timeLimitMs = (tests.timeLimitMs ?? defaultTimeLimitMs) * (level.slowdown ?? 1);
  const limits = {
    cpuMs: timeLimitMs,
    wallMs: timeLimitMs * 2 + 2000,
    memoryMb: tests.memoryLimitMb ?? (official ? 4096 : 512),
    outputCharacters: 1_000_000,
  };
  let failed = false;
  const runOne = async (test: number): Promise<Omit<TestVerdict, "test">> => {
    const run = (request: Pick<SandboxRequest, "code" | "stdin">) =>
      sandbox.run({ language, ...request, limits, signal });
    const result = await run(requestFor(tests, test, code, language, official));
    const verdict = judge(tests, test, result, scoring, language);
    if (tests.checker !== undefined && result.verdict === "ok" && tests.functionName === undefined)
      return check(tests, test, result.stdout, { ...options, sandbox }, limits);
    return verdict.verdict === "passed" || verdict.verdict === "wrong"
      ? verdict
      : whatCannotRun(level, result, verdict);
  };
  const verdicts = await inParallel(tests.inputs, concurrency, async (_input, test) => {
    signal?.throwIfAborted();
    if (failed && stopEarly) return undefined;
    const verdict = await runOne(test);
    failed ||= verdict.verdict !== "passed" && verdict.verdict !== "undecided";
    return { test, ...verdict };
  });
  return verdicts.filter((verdict) => verdict !== undefined);
}

function requestFor(
  tests: CodeTests,
  test: number,
  code: string,
  language: "python" | "javascript",
  official: boolean,
): Pick<SandboxRequest, "code" | "stdin"> {
  const { functionName } = tests;
  if (functionName !== undefined) {
    const call = language === "javascript" ? javascriptCall(code, functionName) : callHarness(code, functionName);
    return { code: call, stdin: argumentsText(tests.inputs[test]!) };
  }
  return { code: official && language === "python" ? programHarness(code) : code, stdin: tests.inputs[test]! };
}

function judge(
  tests: CodeTests,
  test: number,
  result: SandboxResult,
  scoring: Scoring,
  language: "python" | "javascript",
): Omit<TestVerdict, "test"> {
  if (result.verdict !== "ok") return { verdict: result.verdict, detail: lastLine(result) };
  const wanted = tests.outputs[test]!;
  if (tests.functionName === undefined) {
    const correct = rightOutput(tests, test, result.stdout, scoring);
    return {
      verdict: correct ? "passed" : "wrong",
      detail: correct ? "" : `printed ${clip(result.stdout)}, wanted ${clip(wanted)}`,
    };
  }
  const line = result.stdout.split("\n").findLast((text) => text.startsWith(resultMark));
  if (line === undefined) return { verdict: "failed", detail: "the function did not return" };
  const returned = line.slice(resultMark.length);
  const accepted = [wanted, ...(tests.alsoRight?.[test] ?? [])];
  const correct = accepted.some((text) => sameResult(returned, text, language));
  return {
    verdict: correct ? "passed" : "wrong",
    detail: correct ? "" : `returned ${clip(returned)}, wanted ${clip(wanted)}`,
  };
}

/** Python equality of a returned value with the expected JSON; a tuple at the top counts as a list, as officially. */
function sameResult(returned: string, wanted: string, language: "python" | "javascript"): boolean {
  try {
    const value = language === "python" ? decodeValue(JSON.parse(returned)) : jsonValue(returned);
    const said = value.type === "tuple" ? { ...value, type: "list" as const } : value;
    return pythonEquals(said, jsonValue(wanted));
  } catch {
    return false;
  }
}

/** The verdict of a task's own checker on one output, by another run in the sandbox. */
async function check(
  tests: CodeTests,
  test: number,
  printed: string,
  { sandbox, signal }: CodeGradeOptions,
  limits: SandboxRequest["limits"],
): Promise<Omit<TestVerdict, "test">> {
  const stdin = JSON.stringify([tests.inputs[test], tests.outputs[test], printed]);
  const result = await sandbox.run({ language: "python", code: checkerHarness(tests.checker!), stdin, limits, signal });
  const line = result.stdout.split("\n").findLast((text) => text.startsWith(resultMark));
  if (result.verdict !== "ok" || line === undefined)
    return { verdict: "undecided", detail: `the task's checker ended with ${result.verdict}: ${lastLine(result)}` };
  const right = Number(line.slice(resultMark.length)) > 0;
  return { verdict: right ? "passed" : "wrong", detail: right ? "" : `the checker refused ${clip(printed)}` };
}

const libraries = /^ModuleNotFoundError: No module named '(numpy|scipy|pandas|sympy|networkx|sortedcontainers|numba)/;

/** A failure that is this sandbox's, not the program's, is undecided. */
function whatCannotRun(
  level: SandboxLevel,
  result: SandboxResult,
  verdict: Omit<TestVerdict, "test">,
): Omit<TestVerdict, "test"> {
  const undecided = (what: string) => ({ verdict: "undecided" as const, detail: `the ${level.kind} sandbox ${what}` });
  const last = lastLine(result);
  const library = libraries.exec(last)?.[1];
  if (library) return undecided(`has no ${library}`);
  const cannot = level.cannot ?? [];
  if (cannot.includes("deep recursion") && (/^RecursionError|stack/i.test(last) || result.verdict === "crashed"))
    return undecided("can't recurse as deeply as Python can");
  if (cannot.includes("large memory") && (result.verdict === "memory" || /^MemoryError/.test(last)))
    return undecided("can't give as much memory as the task allows");
  if (cannot.includes("threads") && /can't start new thread|processes? (?:is|are) not supported/.test(last))
    return undecided("has no threads");
  return verdict;
}

function lastLine(result: SandboxResult): string {
  return result.stderr.trim().split("\n").at(-1)?.slice(0, 200) || `exit code ${result.exitCode}`;
}

function clip(text: string): string {
  const shown = JSON.stringify(text.trim());
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown;
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
  const blocks = fencedBlocks(answer).filter(({ language }) => !/^(?:sh|bash|text|json)$/.test(language));
  const programs = /^(?:py|python|python3|js|javascript)$/i;
  const last = blocks.findLast(({ language }) => programs.test(language)) ?? blocks.at(-1);
  const language = /^(?:js|javascript)$/i.test(last?.language ?? "") ? "javascript" : "python";
  return { code: (last?.inside ?? answer).replace(/^\n+/, "").trimEnd(), language };
}

function javascriptCall(code: string, name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new CoaError("grader", `not a function name: ${JSON.stringify(name)}`);
  return `${code}\n;{ const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));\nconst call = typeof Solution === "function" ? (...args) => new Solution().${name}(...args) : ${name};\nconsole.log("\\n\\u0001result:" + JSON.stringify(call(...input) ?? null)); }\n`;
}
