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
import { pythonDecimal, splitWords, strip } from "../python-text.ts";
import type { Scoring } from "../scorers.ts";
import { callHarness, programHarness, resultMark } from "./python-harness.ts";
import { decodeValue, jsonValue, pythonEquals } from "./python-value.ts";

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
  const code = extractCode(answer);
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
    const request = requestFor(tests, test, code, official);
    const result = await sandbox.run({ language: "python", ...request, limits, signal });
    const verdict = judge(tests, test, result, scoring);
    return ["passed", "wrong"].includes(verdict.verdict) ? verdict : whatCannotRun(level, result, verdict);
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
  official: boolean,
): Pick<SandboxRequest, "code" | "stdin"> {
  const { functionName } = tests;
  if (functionName !== undefined)
    return { code: callHarness(code, functionName), stdin: argumentsText(tests.inputs[test]!) };
  return { code: official ? programHarness(code) : code, stdin: tests.inputs[test]! };
}

function judge(tests: CodeTests, test: number, result: SandboxResult, scoring: Scoring): Omit<TestVerdict, "test"> {
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
  const correct = accepted.some((text) => sameResult(returned, text));
  return {
    verdict: correct ? "passed" : "wrong",
    detail: correct ? "" : `returned ${clip(returned)}, wanted ${clip(wanted)}`,
  };
}

/** Python equality of a returned value with the expected JSON; a tuple at the top counts as a list, as officially. */
function sameResult(returned: string, wanted: string): boolean {
  try {
    const value = decodeValue(JSON.parse(returned));
    const said = value.type === "tuple" ? { ...value, type: "list" as const } : value;
    return pythonEquals(said, jsonValue(wanted));
  } catch {
    return false;
  }
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

/** The Python program in an answer: its last fenced block, or all of it where there is none. */
export function extractCode(answer: string): string {
  const blocks = fencedBlocks(answer).filter(({ language }) => !/^(?:sh|bash|text|json)$/.test(language));
  const last = blocks.findLast(({ language }) => /^(?:py|python|python3)$/i.test(language)) ?? blocks.at(-1);
  return (last?.inside ?? answer).replace(/^\n+/, "").trimEnd();
}

/**
 * When what a program printed is what was wanted. `strict`: line by line, only white space at line ends is free.
 * `official` is LiveCodeBench's: both texts and each of their lines stripped; a line that differs may still be equal as
 * a row of decimal numbers. A test may have several right outputs, or allow floats to be off by a little.
 */
export function rightOutput(tests: CodeTests, test: number, printed: string, scoring: Scoring): boolean {
  const same = scoring === "official" ? officialSame : sameOutput;
  const wanted = [tests.outputs[test]!, ...(tests.alsoRight?.[test] ?? [])];
  const { tolerance } = tests;
  return wanted.some((text) => same(text, printed) || (tolerance !== undefined && within(text, printed, tolerance)));
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

/** As LiveCodeBench compares: stripped lines, then rows of exact decimals. */
export function officialSame(wanted: string, printed: string): boolean {
  const lines = (text: string) => strip(text).split("\n").map(strip);
  const [expected, said] = [lines(wanted), lines(printed)];
  if (expected.length !== said.length) return false;
  return expected.every((line, i) => {
    if (line === said[i]) return true;
    const [a, b] = [decimals(line), decimals(said[i]!)];
    return a !== undefined && b !== undefined && a.length === b.length && a.every((value, at) => value === b[at]);
  });
}

function decimals(line: string): string[] | undefined {
  const values = splitWords(line).map(pythonDecimal);
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** Word by word; numbers may be off by the larger of the absolute and the relative tolerance. */
function within(wanted: string, printed: string, tolerance: NonNullable<CodeTests["tolerance"]>): boolean {
  const [expected, said] = [splitWords(wanted), splitWords(printed)];
  const { absolute = 0, relative = 0 } = tolerance;
  return (
    expected.length === said.length &&
    expected.every((word, i) => {
      if (word === said[i]) return true;
      const [a, b] = [Number(word), Number(said[i])];
      return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= Math.max(absolute, relative * Math.abs(a));
    })
  );
}
