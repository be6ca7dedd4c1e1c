import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const folder = await mkdtemp(join(tmpdir(), "coa-eval-cli-"));
after(() => rm(folder, { recursive: true, force: true }));
const main = fileURLToPath(new URL("../main.ts", import.meta.url));

function coa(args: string[], input = ""): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: { ...process.env, OPENAI_BASE_URL: "", OPENAI_API_KEY: "" },
    });
    const [out, err]: string[][] = [[], []];
    child.stdout.on("data", (chunk) => out!.push(String(chunk)));
    child.stderr.on("data", (chunk) => err!.push(String(chunk)));
    child.on("exit", (code) => resolve({ code, stdout: out!.join(""), stderr: err!.join("") }));
    child.stdin.end(input);
  });
}

const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { correct: boolean; reason: string });

describe("coa grade", () => {
  it("reads JSONL and writes one verdict a line", async () => {
    const input = [
      '{"gold":"\\\\frac{1}{2}","answer":"0.5"}',
      "",
      '{"gold":["1","2"],"answer":"3"}',
      '{"gold":"1"}',
    ].join("\n");
    const { code, stdout } = await coa(["grade", "math"], input);
    assert.equal(code, 0);
    assert.deepEqual(
      lines(stdout).map(({ correct }) => correct),
      [true, false, false],
    );
    assert.ok(lines(stdout).every(({ reason }) => reason !== ""));
    assert.equal(lines((await coa(["grade", "gaia"], '{"gold":"1000","answer":"1,000"}')).stdout)[0]?.correct, true);
  });

  it("says what is wrong with a kind or a line, with exit code 2", async () => {
    const kind = await coa(["grade", "maths"]);
    assert.equal(kind.code, 2);
    assert.match(kind.stderr, /no grader "maths"; there are: qa/);
    const line = await coa(["grade", "qa"], "nonsense\n");
    assert.equal(line.code, 2);
    assert.match(line.stderr, /line 1 of the input is not JSON/);
  });
});

describe("coa eval", () => {
  it("runs a system of one's own, goes on with it, compares two and writes the report", async () => {
    await writeFile(
      join(folder, "tasks.jsonl"),
      Array.from({ length: 12 }, (_, i) => JSON.stringify({ question: `${i}?`, answer: String(i) })).join("\n"),
    );
    const usage = JSON.stringify({
      modelCalls: 1,
      promptTokens: 9,
      completionTokens: 1,
      cachedTokens: 0,
      billedTokens: 10,
      computedTokens: 10,
      toolCalls: 0,
      toolMs: 0,
      wallMs: 1,
      costUsd: 0,
    });
    const system = (
      name: string,
      wrong: number,
    ) => `export default { name: "${name}", topology: "handoff", async run(task) {
      const i = Number(task.question.slice(0, -1));
      return { answer: i % ${wrong} === 0 ? "x" : String(i), ending: { reason: "answered" }, usage: ${usage}, toolCalls: {}, tokensByRole: {} };
    } };`;
    await writeFile(join(folder, "a.mjs"), system("a", 2));
    await writeFile(join(folder, "b.mjs"), system("b", 4));
    const first = await coa(["eval", "run", "tasks.jsonl", "--system", "./a.mjs", "--json"]);
    assert.equal(first.code, 0, first.stderr);
    assert.equal((JSON.parse(first.stdout) as { success: { value: number } }).success.value, 0.5);
    assert.equal((await coa(["eval", "run", "tasks.jsonl", "--system", "./a.mjs"])).code, 0);
    assert.match((await coa(["eval", "run", "tasks.jsonl", "--system", "./b.mjs"])).stdout, /b: 75\.0 %/);
    const compared = await coa(["eval", "compare", "a", "b", "--out", "report.html"]);
    assert.equal(compared.code, 0, compared.stderr);
    assert.match(compared.stdout, /saves vs a \(handoff\)/);
    assert.match(await readFile(join(folder, "report.html"), "utf8"), /^<!doctype html>/);
    assert.match((await coa(["eval", "report", "b"])).stdout, /right 9, wrong 3/);
    const listed = JSON.parse((await coa(["eval", "list", "--json"])).stdout) as {
      benchmarks: unknown[];
      evaluations: { name: string }[];
    };
    assert.equal(listed.benchmarks.length, 19);
    assert.deepEqual(
      listed.evaluations.map(({ name }) => name),
      ["a", "b"],
    );
  });

  it("says what is missing", async () => {
    const cases: [string[], RegExp][] = [
      [["eval", "run", "tasks.jsonl"], /no model to evaluate/],
      [["eval", "run"], /needs a file of tasks/],
      [["eval", "run", "tasks.jsonl", "--system", "./none.mjs"], /can't be loaded/],
      [["eval", "compare", "a"], /two evaluations or more/],
      [["eval", "report", "nothing"], /no evaluation in/],
      [["eval", "run", "tasks.jsonl", "--system", "./a.mjs", "--samples", "0"], /--samples takes a whole number/],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await coa(args);
      assert.equal(code, 2, args.join(" "));
      assert.match(stderr, message);
    }
  });
});
