import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { testSize, whole } from "../../../test/fixtures/test-size.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { CodeTests } from "../../core/task.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../../tools/sandbox/bubblewrap.ts";
import { argumentsText, extractCode, gradeCode, runTests, sameOutput } from "./grade-code.ts";
import { jsonValue, pythonEquals } from "./python-value.ts";

/** Fifty small problems: a Python expression over the list `a`, and the same computed here as the second way. */
const expressions: [string, (a: number[]) => unknown][] = [
  ["sum(a)", (a) => a.reduce((x, y) => x + y, 0)],
  ["max(a)", (a) => Math.max(...a)],
  ["min(a)", (a) => Math.min(...a)],
  ["len(a)", (a) => a.length],
  ["sorted(a)", (a) => a.toSorted((x, y) => x - y)],
  ["a[::-1]", (a) => a.toReversed()],
  ["len(set(a))", (a) => new Set(a).size],
  ["sum(x * x for x in a)", (a) => a.reduce((x, y) => x + y * y, 0)],
  ["[x for x in a if x % 2 == 0]", (a) => a.filter((x) => x % 2 === 0)],
  ["max(a) - min(a)", (a) => Math.max(...a) - Math.min(...a)],
];
const problems = Array.from({ length: 50 }, (_, i) => {
  const [python, here] = expressions[i % expressions.length]!;
  const shift = Math.floor(i / expressions.length);
  const program = `a = [x + ${shift} for x in a]`;
  const lists = [
    [3, 1, 2, i % 9],
    [i, i + 2, 7, 7, 4],
  ];
  const results = lists.map((list) => here(list.map((x) => x + shift)));
  const called = i % 2 === 1;
  const tests: CodeTests = called
    ? {
        functionName: "solve",
        inputs: lists.map((list) => JSON.stringify([list])),
        outputs: results.map((r) => JSON.stringify(r)),
      }
    : {
        inputs: lists.map((list) => `${list.join(" ")}\n`),
        outputs: results.map((r) => `${Array.isArray(r) ? r.join(" ") : r}\n`),
      };
  const write = (body: string, value: string) =>
    called
      ? `def solve(a):\n    ${program}\n${body.replace(/^/gm, "    ")}\n    return ${value}`
      : `a = list(map(int, input().split()))\n${program}\n${body}\nr = ${value}\nprint(*r) if isinstance(r, list) else print(r)`;
  return { tests: { ...tests, timeLimitMs: 1000, memoryLimitMb: 128 }, write, python, called };
});

const secret = `canary-${process.pid}-secret`;
const wrongValue = (python: string) => `(lambda v: v + [1] if isinstance(v, list) else v + 1)(${python})`;
const malicious = (folder: string) => [
  `import os\nfor f in os.listdir(${JSON.stringify(folder)}): os.remove(os.path.join(${JSON.stringify(folder)}, f))`,
  `import socket\ns = socket.create_connection(("127.0.0.1", 22), 1)\nprint(s)`,
  `import os\nprint(open("/proc/1/environ").read(), os.environ["COA_CANARY"])`,
  `open(${JSON.stringify(join(folder, "escaped"))}, "w").write("out")`,
  `import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)`,
];
const hungry = "b = []\nwhile True: b.append(bytearray(16 * 1024 * 1024))";
const slow = "while True: pass";
const crashing = "import ctypes\nraise SystemError('boom')";

const problem = bubblewrapProblem();
describe("gradeCode", { skip: problem ? `no sandbox to test with: ${problem}` : false }, () => {
  let sandbox: Sandbox;
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-code-"));
    await writeFile(join(folder, "canary"), secret);
    process.env["COA_CANARY"] = secret;
    sandbox = bubblewrapSandbox({ warm: 2, concurrency: 4 });
  });
  after(async () => {
    delete process.env["COA_CANARY"];
    await sandbox?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("gives every kind of solution its verdict on generated problems, whatever the order, and lets nothing out", async (t) => {
    interface Case {
      name: string;
      wanted: readonly string[];
      tests: CodeTests;
      code: string;
    }
    const cases: Case[] = problems
      .slice(0, testSize(16, problems.length))
      .flatMap(({ tests, write, python }, i): Case[] => {
        const one = { ...tests, inputs: tests.inputs.slice(0, 1), outputs: tests.outputs.slice(0, 1) };
        const fenced = (code: string) => `Here it is:\n\`\`\`py\n${code}\n\`\`\`\n`;
        const all: Case[] = [
          { name: `${i} right`, wanted: ["passed"], tests, code: fenced(write("pass", python)) },
          { name: `${i} wrong`, wanted: ["wrong"], tests: one, code: fenced(write("pass", wrongValue(python))) },
        ];
        const bad: Case[] = [
          {
            name: `${i} slow`,
            wanted: ["timeout"],
            tests: { ...one, timeLimitMs: 300 },
            code: fenced(write(slow, python)),
          },
          { name: `${i} hungry`, wanted: ["memory"], tests: one, code: fenced(write(hungry, python)) },
          { name: `${i} crashing`, wanted: ["failed", "crashed"], tests: one, code: fenced(write(crashing, python)) },
          {
            name: `${i} malicious`,
            wanted: ["failed", "crashed", "wrong", "timeout", "memory"],
            tests: one,
            code: fenced(write(malicious(folder)[i % 5]!, python)),
          },
        ];
        // At whole size every problem gets every bad solution, otherwise one.
        return all.concat(whole ? bad : [bad[i % 4]!]);
      });
    const gradeAll = async (list: readonly Case[]) => {
      const verdicts = new Map<string, string[]>();
      let next = 0;
      const worker = async () => {
        for (let one = list[next++]; one; one = list[next++]) {
          const found = await runTests(one.tests, one.code, { sandbox, concurrency: 2 });
          verdicts.set(
            one.name,
            found.map(({ verdict }) => verdict),
          );
          for (const { detail } of found) assert.ok(!detail.includes(secret), `${one.name} read the canary`);
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      return verdicts;
    };
    const forward = await gradeAll(cases);
    const wrong = cases.filter(({ name, wanted }) => !forward.get(name)!.every((verdict) => wanted.includes(verdict)));
    t.diagnostic(`${cases.length} solutions of ${problems.length} problems, ${wrong.length} verdicts not as wanted`);
    assert.deepEqual(
      wrong.map(({ name, wanted }) => `${name}: ${forward.get(name)} instead of ${wanted}`),
      [],
    );
    const backward = await gradeAll(cases.filter((_, i) => i % 4 === 0).toReversed());
    for (const [name, verdict] of backward) assert.deepEqual(verdict, forward.get(name), name);
    assert.deepEqual(await readdir(folder), ["canary"]);
    assert.ok(!existsSync(join(folder, "escaped")));
  });

  it("counts every test and gives the share as score", async () => {
    const tests: CodeTests = { inputs: ["1\n", "2\n", "3\n", "4\n"], outputs: ["1", "2", "3", "5"] };
    const grade = await gradeCode(tests, "print(input())", { sandbox });
    assert.deepEqual([grade.correct, grade.score], [false, 0.75]);
    assert.match(grade.reason, /3 of 4 tests passed; test 4: wrong/);
  });

  it("calls methods of Solution, knows the usual imports, and is not fooled by objects or by printing", async () => {
    const tests: CodeTests = {
      functionName: "twice",
      inputs: ["[[1, 2]]", "[[900719925474099312345]]"],
      outputs: ["[2, 4]", "[1801439850948198624690]"],
    };
    const right =
      "class Solution:\n    def twice(self, xs: List[int]) -> List[int]:\n        print('noise')\n        return [2 * x for x in xs]";
    assert.equal((await gradeCode(tests, right, { sandbox })).correct, true);
    const liar = "class Yes:\n    def __eq__(self, other): return True\ndef twice(xs): return Yes()";
    assert.equal((await gradeCode(tests, liar, { sandbox })).score, 0);
    const forger = "print('\\n\\x01result:[2, 4]')\ndef twice(xs): raise SystemExit(0)";
    assert.equal(
      (await gradeCode({ ...tests, inputs: ["[[5]]"], outputs: ["[10]"] }, forger, { sandbox })).correct,
      false,
    );
  });
});

describe("the parts of code grading", () => {
  it("takes the last program of an answer", () => {
    assert.equal(extractCode("```py\nprint(1)\n```\nbetter:\n```python\nprint(2)\n```\n"), "print(2)");
    assert.equal(extractCode("```py\nprint(1)\n```\n```sh\n5\n```"), "print(1)");
    assert.equal(extractCode("print(3)"), "print(3)");
  });

  it("compares output letter by letter, apart from white space at line ends", () => {
    assert.ok(sameOutput("1\n2\n", "1  \n2"));
    assert.ok(!sameOutput("Yes", "YES"));
    assert.ok(!sameOutput("1 2", "1  2"));
    assert.ok(!sameOutput("1\n2", "1 2"));
  });

  it("compares JSON as Python does, long whole numbers exactly", () => {
    const same = (a: string, b: string) => pythonEquals(jsonValue(a), jsonValue(b));
    assert.ok(same("[1.0, 2]", "[1,2]"));
    assert.ok(same('{"a":1,"b":2}', '{"b":2,"a":1}'));
    assert.ok(!same("9007199254740993", "9007199254740992"));
    assert.ok(same("true", "1"), "True == 1 in Python");
    assert.ok(!same("[[1, 2]]", "[[2, 1]]"));
    assert.ok(!same('"NaN"', "NaN"));
    assert.ok(!same("NaN", "NaN") && same("-Infinity", "-Infinity"));
  });

  it("reads arguments from one array or one value per line", () => {
    assert.equal(argumentsText("[[1,2],3]"), "[[1,2],3]");
    assert.equal(argumentsText('[1,2]\n"x"\n'), '[[1,2],"x"]');
    assert.equal(argumentsText("5"), "[5]");
  });
});
