/**
 * Tests of programming tasks, from the shapes that LiveCodeBench and CodeContests come in. Whatever the shape, arguments
 * of function calls become one JSON array per test, so that nothing downstream has to guess.
 */

import { inflateSync } from "node:zlib";
import { pythonLiteral } from "../../base/text/relaxed-json.ts";
import { CoaError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-value.ts";
import type { CodeTests } from "../../core/task.ts";
import { groundTruth, pickObject, pickText } from "./fields.ts";
import { readPickle } from "./read-pickle.ts";
import type { Row } from "./read-rows.ts";

/** The tests in a row, from whichever of the known shapes it has; undefined where there are none. */
export function codeTestsOf(row: Row): CodeTests | undefined {
  const extra = pickObject(row, "extra_info") ?? {};
  const starterCode = pickText(row, "starter_code") ?? pickText(extra, "starter_code");
  const functionName = pickText(pickObject(row, "metadata") ?? pickObject(extra, "metadata") ?? {}, "func_name");
  const tests = liveCodeBench(row, functionName) ?? codeContests(row) ?? trainingRow(groundTruth(row), functionName);
  return tests && (starterCode ? { ...tests, starterCode } : tests);
}

/** The id that LiveCodeBench's files are joined by. */
export function questionIdOf(row: Row): string | undefined {
  const truth = groundTruth(row);
  const told = truth !== null && typeof truth === "object" ? (truth as Row) : {};
  return pickText(row, "question_id") ?? pickText(told, "question_id");
}

/** Whether a row brings the tests that answers are not shown; a LiveCodeBench row with the public ones alone does not. */
export function hasHiddenTests(row: Row): boolean {
  const hidden = row["private_test_cases"];
  if (row["public_test_cases"] !== undefined) return hidden !== undefined && hidden !== "" && hidden !== "[]";
  return questionIdOf(row) === undefined;
}

interface TestCase {
  input: string;
  output: string;
  testtype?: string;
}

/** Hugging Face shape: `public_test_cases` as JSON, `private_test_cases` as JSON or compressed. */
function liveCodeBench(row: Row, functionName: string | undefined): CodeTests | undefined {
  const fields = [row["public_test_cases"], row["private_test_cases"]].filter(
    (field) => field !== undefined && field !== "",
  );
  if (fields.length === 0) return undefined;
  const cases = fields.flatMap((field) => (typeof field === "string" ? readCases(field) : (field as TestCase[])));
  const called = cases.some((test) => test.testtype === "functional");
  if (called && functionName === undefined)
    throw new CoaError("format", "LiveCodeBench row with functional tests names no function in its metadata");
  return {
    ...(called ? { functionName } : {}),
    inputs: cases.map((test) => (called ? argumentLines(test.input) : test.input)),
    outputs: cases.map((test) => test.output),
  };
}

/** One JSON value per line, as one array: a single line that holds a list is one argument. */
function argumentLines(input: string): string {
  const lines = input.split("\n").filter((line) => line.trim() !== "");
  return `[${lines.join(",")}]`;
}

function readCases(text: string): TestCase[] {
  const plain = parseJson(text);
  if (Array.isArray(plain)) return plain as TestCase[];
  const bytes = inflateSync(Buffer.from(text, "base64"));
  const cases = parseJson(pickledText(bytes));
  if (!Array.isArray(cases)) throw new CoaError("format", "private_test_cases holds neither JSON nor compressed JSON");
  return cases as TestCase[];
}

/** The text that a pickle holds, read as data; bytes that are not a pickle are the text themselves. */
function pickledText(bytes: Buffer): string {
  if (bytes[0] !== 0x80) return bytes.toString("utf8");
  const value = readPickle(bytes);
  return typeof value === "string" ? value : "";
}

/** CodeContests: public, private and generated tests as parallel lists; limits as seconds and bytes. */
function codeContests(row: Row): CodeTests | undefined {
  const groups = ["public_tests", "private_tests", "generated_tests"]
    .map((name) => pickObject(row, name))
    .filter((group) => group !== undefined);
  if (groups.length === 0) return undefined;
  const time = pickObject(row, "time_limit");
  const seconds = time
    ? Number(time["seconds"] ?? 0) + Number(time["nanos"] ?? 0) / 1e9
    : Number(row["time_limit"] ?? 0);
  const bytes = Number(row["memory_limit_bytes"] ?? 0);
  return {
    inputs: groups.flatMap((group) => (group["input"] as string[] | undefined) ?? []),
    outputs: groups.flatMap((group) => (group["output"] as string[] | undefined) ?? []),
    ...(seconds > 0 ? { timeLimitMs: seconds * 1000 } : {}),
    ...(bytes > 0 ? { memoryLimitMb: Math.ceil(bytes / 1e6) } : {}),
  };
}

/** Training-format rows: stdin lists, input/output lists, or assertions on calls of `Solution`. */
export function trainingRow(truth: unknown, functionName?: string): CodeTests | undefined {
  if (truth === null || typeof truth !== "object") return undefined;
  const { stdin, expected_output, inputs, outputs, fn_name, functional } = truth as Row;
  if (Array.isArray(stdin)) return { inputs: stdin as string[], outputs: expected_output as string[] };
  if (Array.isArray(inputs) && Array.isArray(outputs)) {
    const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
    const isCalled = typeof fn_name === "string";
    return {
      ...(isCalled ? { functionName: fn_name } : {}),
      inputs: inputs.map((input) => (isCalled && typeof input === "string" ? argumentLines(input) : text(input))),
      outputs: outputs.map(text),
    };
  }
  return typeof functional === "string" ? assertedCalls(functional, functionName) : undefined;
}

/** `result = Solution().name(arguments)` followed by `assert result == value`. */
function assertedCalls(source: string, functionName: string | undefined): CodeTests {
  const tests: CodeTests = { inputs: [], outputs: [] };
  for (const match of source.matchAll(/Solution\(\)\.(\w+)\s*(?=\()/g)) {
    const call = pythonLiteral(source, match.index + match[0].length);
    const after = source.slice(match.index + match[0].length);
    const equals = /assert\s+\w+\s*==\s*/.exec(after);
    if (!equals) throw new CoaError("format", `a functional test asserts nothing after: ${match[0]}`);
    const wanted = pythonLiteral(after, equals.index + equals[0].length);
    tests.functionName = match[1] ?? functionName;
    tests.inputs.push(JSON.stringify(call));
    tests.outputs.push(JSON.stringify(wanted));
  }
  if (tests.inputs.length === 0) throw new CoaError("format", `no call of Solution() in: ${source.slice(0, 80)}`);
  return tests;
}
