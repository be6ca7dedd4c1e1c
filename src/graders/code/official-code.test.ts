import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Sandbox } from "../../core/sandbox.ts";
import { type CodeTests, defineTask } from "../../core/task.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../../tools/sandbox/bubblewrap.ts";
import { nsjailSandbox } from "../../tools/sandbox/nsjail.ts";
import { pyodideSandbox } from "../../tools/sandbox/pyodide.ts";
import { gradeTask } from "../grade-task.ts";
import { gradeCode } from "./grade-code.ts";

interface Case {
  name: string;
  tests: CodeTests;
  code: string;
  /** The official verdict; null where a sandbox may leave it undecided (and then must give a reason). */
  wanted: boolean;
  /** What this case needs that WebAssembly can't give. */
  needs?: "deep recursion" | "large memory" | "threads";
}

const stdin = (input: string, output: string, more: Partial<CodeTests> = {}): CodeTests => ({
  inputs: [input],
  outputs: [output],
  ...more,
});
const call = (input: string, output: string): CodeTests => ({ functionName: "f", inputs: [input], outputs: [output] });

const cases: Case[] = [
  { name: "1.50 for 1.5", tests: stdin("", "1.5\n"), code: "print('1.50')", wanted: true },
  { name: "a row of decimals", tests: stdin("", "1 2.0 3e2"), code: "print('1.0  2 300')", wanted: true },
  { name: "a decimal off by a little", tests: stdin("", "1.5"), code: "print('1.5000001')", wanted: false },
  { name: "other case", tests: stdin("", "Yes"), code: "print('YES')", wanted: false },
  { name: "blanks in front of a line", tests: stdin("", "a\nb"), code: "print('  a')\nprint(' b ')", wanted: true },
  { name: "an empty line between", tests: stdin("", "a\nb"), code: "print('a\\n\\nb')", wanted: false },
  { name: "Counter without import", tests: stdin("abca", "2"), code: "print(Counter(input())['a'])", wanted: true },
  {
    name: "recursion 20,000 deep",
    tests: stdin("", "20000"),
    code: "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f(20000))",
    wanted: true,
    needs: "deep recursion",
  },
  { name: "sys.exit(0) in the middle", tests: stdin("", "7"), code: "print(7)\nsys.exit()", wanted: true },
  { name: "SystemExit with a code", tests: stdin("", "7"), code: "print(7)\nexit(3)", wanted: true },
  { name: "if __name__ == '__main__'", tests: stdin("4", "8"), code: "def main():\n    print(int(input()) * 2)\nif __name__ == '__main__':\n    main()", wanted: true },
  { name: "sys.stdin.buffer", tests: stdin("1 2\n3", "6"), code: "print(sum(map(int, sys.stdin.buffer.read().split())))", wanted: true },
  { name: "an exception", tests: stdin("", "1"), code: "print(1)\nraise ValueError('x')", wanted: false },
  { name: "a syntax error", tests: stdin("", "1"), code: "print(1", wanted: false },
  { name: "quotes, backslashes and other scripts", tests: stdin("", "\"é\\n𝔘\""), code: "print('\"é\\\\n𝔘\"')", wanted: true },
  {
    name: "threads",
    tests: stdin("", "ok"),
    code: "import threading\nt = threading.Thread(target=lambda: print('ok'))\nt.start()\nt.join()",
    wanted: true,
    needs: "threads",
  },
  { name: "sys.maxsize", tests: call("[1]", "true"), code: "def f(x): return x < sys.maxsize", wanted: true },
  { name: "copy.deepcopy", tests: call("[[1]]", "[1]"), code: "def f(x): return copy.deepcopy(x)", wanted: true },
  { name: "1 for true", tests: call("[1]", "true"), code: "def f(x): return 1", wanted: true },
  { name: "2.0 for 2", tests: call("[1]", "2"), code: "def f(x): return 2.0", wanted: true },
  { name: "a tuple for a list", tests: call("[1]", "[1, 2]"), code: "def f(x): return (1, 2)", wanted: true },
  { name: "tuples inside a list", tests: call("[1]", "[[1, 2]]"), code: "def f(x): return [(1, 2)]", wanted: false },
  { name: "a set for a list", tests: call("[1]", "[1, 2]"), code: "def f(x): return {1, 2}", wanted: false },
  { name: "a string", tests: call('["a"]', '"aa"'), code: "def f(x): return x * 2", wanted: true },
  { name: "keys that are not texts", tests: call("[1]", '{"1": 2}'), code: "def f(x): return {1: 2}", wanted: false },
  { name: "a Counter for an object", tests: call('["aab"]', '{"b": 1, "a": 2}'), code: "def f(x): return Counter(x)", wanted: true },
  { name: "a method of Solution", tests: call("[[3, 4]]", "7"), code: "class Solution:\n    def f(self, x: List[int]) -> int:\n        return sum(x)", wanted: true },
  { name: "None", tests: call("[1]", "null"), code: "def f(x): pass", wanted: true },
  { name: "0.1 + 0.2", tests: call("[1]", "0.3"), code: "def f(x): return 0.1 + 0.2", wanted: false },
  { name: "a huge whole number", tests: call("[[7]]", String(7n ** 90n)), code: "def f(x): return x[0] ** 90", wanted: true },
  { name: "an object that equals everything", tests: call("[1]", "5"), code: "class Y:\n    def __eq__(self, o): return True\ndef f(x): return Y()", wanted: false },
  { name: "several right outputs", tests: stdin("", "1 2", { alsoRight: [["2 1"]] }), code: "print(2, 1)", wanted: true },
  { name: "a float within tolerance", tests: stdin("", "3.14159265", { tolerance: { absolute: 1e-6 } }), code: "print('3.1415927')", wanted: true },
  { name: "a float outside tolerance", tests: stdin("", "3.14159265", { tolerance: { absolute: 1e-6 } }), code: "print('3.1416')", wanted: false },
  {
    name: "a checker that is a function",
    tests: stdin("6", "1 5", { checker: "def check(given, expected, output):\n    return sum(map(int, output.split())) == int(given)" }),
    code: "print(2, 4)",
    wanted: true,
  },
  {
    name: "a checker that reads three files",
    tests: stdin("6", "1 5", {
      checker: "import sys\ngiven, expected, output = (open(path).read() for path in sys.argv[1:4])\nprint(1 if sum(map(int, output.split())) == int(given) else 0)",
    }),
    code: "print(2, 5)",
    wanted: false,
  },
]; // biome-ignore format: one case a line

const sandboxes: Record<string, () => Sandbox> = {
  pyodide: () => pyodideSandbox({ warm: 1, isolation: "run" }),
  ...(bubblewrapProblem() === undefined ? { bubblewrap: () => bubblewrapSandbox({ warm: 2 }) } : {}),
  ...(process.env["COA_NSJAIL"] ? { nsjail: () => nsjailSandbox({ path: process.env["COA_NSJAIL"]! }) } : {}),
};

for (const [kind, open] of Object.entries(sandboxes)) {
  describe(`code by LiveCodeBench's rules in ${kind}`, () => {
    const sandbox = open();
    after(() => sandbox.close());

    for (const { name, tests, code, wanted, needs } of cases) {
      it(`${wanted ? "accepts" : "refuses"} ${name}`, async () => {
        const grade = await gradeCode(tests, code, { sandbox, scoring: "official" });
        if (needs && sandbox.level.cannot?.includes(needs)) {
          // It may manage, but where it does not the program is not to blame.
          assert.notEqual(grade.correct, false, grade.reason);
          if (grade.correct === null) assert.match(grade.reason, /sandbox/);
        } else assert.equal(grade.correct, wanted, grade.reason);
      });
    }

    it("stops at the first failing test, or runs all where told", async () => {
      const tests: CodeTests = { inputs: ["1", "2", "3", "4"], outputs: ["1", "x", "3", "4"] };
      const fast = await gradeCode(tests, "print(input())", { sandbox, scoring: "official", concurrency: 1 });
      assert.deepEqual([fast.correct, fast.score], [false, 0.25]);
      const all = await gradeCode(tests, "print(input())", { sandbox, scoring: "official", tests: "all" });
      assert.deepEqual([all.correct, all.score], [false, 0.75]);
    });

    it("gives Python a fair time in CodeContests, and says so", async () => {
      const tests = stdin("", "1", { timeLimitMs: 500 });
      const task = defineTask({ id: "c", question: "?", kind: "code", scorer: "codecontests", tests });
      const grade = await gradeTask(task, "print(1)", { sandbox });
      assert.equal(grade.correct, true);
      assert.match(grade.reason, /6 s per test for Python; the problem's limit is 0.5 s/);
      assert.equal(grade.scorer, "codecontests official");
      const strict = await gradeTask(task, "print(1)", { sandbox, scoring: "strict" });
      assert.doesNotMatch(strict.reason, /for Python/);
    });
  });
}
