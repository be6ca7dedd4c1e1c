import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { coa } from "../../../test/fixtures/run-coa.ts";
import { exitCodeOf } from "../command.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-eval-cli-"));
process.chdir(folder);
process.env["OPENAI_BASE_URL"] = "";
process.env["OPENAI_API_KEY"] = "";
after(() => {
  process.chdir(import.meta.dirname);
  return rm(folder, { recursive: true, force: true });
});
const main = fileURLToPath(new URL("../main.ts", import.meta.url));

/** In a process of its own, as a shell starts it: what standard input and the exit code need. */
function started(args: string[], input = ""): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...args]);
    const [out, err]: string[][] = [[], []];
    child.stdout.on("data", (chunk) => out!.push(String(chunk)));
    child.stderr.on("data", (chunk) => err!.push(String(chunk)));
    child.on("close", (code) => resolve({ code, stdout: out!.join(""), stderr: err!.join("") }));
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
    const { code, stdout } = await started(["grade", "math"], input);
    assert.equal(code, 0);
    assert.deepEqual(
      lines(stdout).map(({ correct }) => correct),
      [true, false, false],
    );
    assert.ok(lines(stdout).every(({ reason }) => reason !== ""));
    assert.equal(
      lines((await started(["grade", "gaia"], '{"gold":"1000","answer":"1,000"}')).stdout)[0]?.correct,
      true,
    );
  });

  it("takes the tests of LiveCodeBench as they come: fn_name, and one argument a line", async () => {
    const gold = { fn_name: "total", inputs: ["[1, 2, 3]", "[]"], outputs: ["6", "0"] };
    const answer = "class Solution:\n    def total(self, numbers):\n        return sum(numbers)\n";
    const [grade] = lines((await started(["grade", "code"], JSON.stringify({ gold, answer }))).stdout);
    assert.equal(grade?.correct, true, String(grade?.reason));
  });

  it("says what is wrong with a kind or a line, with exit code 2", async () => {
    const kind = await started(["grade", "maths"]);
    assert.equal(kind.code, 2);
    assert.match(kind.stderr, /no grader "maths"; there are: qa/);
    const line = await started(["grade", "qa"], "nonsense\n");
    assert.equal(line.code, 2);
    assert.match(line.stderr, /line 1 of the input is not JSON/);
  });
});

describe("coa eval", () => {
  it("runs a system of one's own, continues it, compares two and writes the report", async () => {
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
    const first = await coa("eval", "run", "tasks.jsonl", "--system", "./a.mjs", "--json");
    assert.equal(first.code, 0, first.stderr);
    assert.equal((JSON.parse(first.stdout) as { success: { value: number } }).success.value, 0.5);
    assert.equal((await coa("eval", "run", "tasks.jsonl", "--system", "./a.mjs")).code, 0);
    assert.match((await coa("eval", "run", "tasks.jsonl", "--system", "./b.mjs")).stdout, /b: 9 of 12, 75\.0 %/);
    const compared = await coa("eval", "compare", "a", "b", "--html", "report.html");
    assert.equal(compared.code, 0, compared.stderr);
    assert.match(compared.stdout, /saves vs a \(handoff\)/);
    assert.match(await readFile(join(folder, "report.html"), "utf8"), /^<!doctype html>/);
    assert.match((await coa("show", "b", "--html", "b.html")).stdout, /right 9, wrong 3/);
    assert.match(await readFile(join(folder, "b.html"), "utf8"), /^<!doctype html>/);
    const listed = JSON.parse((await coa("show", "evals", "--json")).stdout) as {
      entries: { path: string; progress: { figures: { success: number } } }[];
    };
    assert.deepEqual(
      listed.entries.map(({ path, progress }) => [path, progress.figures.success]),
      [
        ["a", 0.5],
        ["b", 0.75],
      ],
    );
    assert.equal((JSON.parse((await coa("show", "benchmarks", "--json")).stdout) as unknown[]).length, 19);
  });

  it("evaluates a chain behind a server, with what it cost", async () => {
    await writeFile(
      join(folder, "sums.jsonl"),
      JSON.stringify({ id: "s", question: "What is 8 + 9?", answer: "17", kind: "math" }),
    );
    const text = "<plan>add</plan><think>8 + 9</think><answer>17</answer>";
    const server = createServer((request, response) => {
      const said = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
      const usage = { prompt_tokens: 50, completion_tokens: 12, total_tokens: 62 };
      if (request.url?.endsWith("/models")) response.end(JSON.stringify({ data: [{ id: "fake" }] }));
      else if (!request.url?.endsWith("/chat/completions")) response.writeHead(404).end("{}");
      else request.resume().on("end", () => response.end(streamOrNot({ id: "r", choices: [said], usage })));
    });
    const streamOrNot = (reply: object) => {
      const { choices, usage } = reply as { choices: { message: unknown }[]; usage: unknown };
      const events = [
        { choices: [{ index: 0, delta: choices[0]!.message }] },
        { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        { choices: [], usage },
      ];
      return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
    };
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const flags = [
      "--base-url",
      `http://127.0.0.1:${port}/v1`,
      "--model",
      "fake",
      "--profile",
      "code",
      "--tools",
      "code",
      "--price",
      "1,2",
      "--json",
    ];
    const live = await coa("eval", "run", "sums.jsonl", "--name", "live", ...flags);
    assert.equal(live.code, 0, live.stderr);
    await new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    const figures = (output: string) =>
      JSON.parse(output) as { successes: number; perTask: { billedTokens: number; costUsd: number } };
    assert.equal(figures(live.stdout).successes, 1);
    assert.equal(figures(live.stdout).perTask.billedTokens, 62);
    assert.ok(Math.abs(figures(live.stdout).perTask.costUsd - 74e-6) < 1e-12);
  });

  it("says what is missing", async () => {
    const { code, stderr } = await started(["eval", "run"]);
    assert.equal(code, 2);
    assert.match(stderr, /needs a file of tasks/);
    const cases: [string[], RegExp][] = [
      [["eval", "run", "tasks.jsonl"], /no model: give --model/],
      [["eval", "run", "tasks.jsonl", "--system", "./none.mjs"], /there is no file \.\/none\.mjs/],
      [["eval", "compare", "a"], /two evaluations or more/],
      [["show", "nothing"], /nothing is not a path, and nothing in/],
      [["eval", "run", "tasks.jsonl", "--system", "./a.mjs", "--samples", "0"], /--samples takes a whole number/],
    ];
    for (const [args, message] of cases)
      await assert.rejects(coa(...args), (error: Error) => exitCodeOf(error) === 2 && message.test(error.message));
  });
});
