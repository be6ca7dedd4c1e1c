import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { deflateSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import type { Task } from "../../core/task.ts";
import { benchmarks, findBenchmark, taskFromRow } from "./benchmarks.ts";
import { loadTasks } from "./load-tasks.ts";
import type { Row } from "./read-rows.ts";

function read(name: string, row: Row): Task {
  const benchmark = findBenchmark(name);
  assert.ok(benchmark, name);
  return taskFromRow(row, 0, benchmark, name);
}

describe("benchmark rows", () => {
  /** One row in each published shape, and what must come out of it. */
  const shapes: [benchmark: string, row: Row, wanted: Partial<Task>][] = [
    [
      "gaia",
      { task_id: "g1", Question: "How many?", Level: 2, "Final answer": "17", file_name: "a.xlsx" },
      { id: "gaia/g1", question: "How many?", answers: ["17"], level: 2, files: ["a.xlsx"], kind: "gaia" },
    ],
    [
      "gaia",
      { id: 4, task_id: "g2", question: "Which?", answer: "x", Level: 1, Annotator_Metadata: { Tools: "browser" } },
      { id: "gaia/g2", answers: ["x"], level: 1 },
    ],
    [
      "browsecomp",
      { question: "Who?", answer: "Ada", topic: "Art" },
      { question: "Who?", answers: ["Ada"], family: "Art", kind: "judge" },
    ],
    [
      "hle",
      { id: "h", question: "What?", image: "", answer: "42", answer_type: "exactMatch", category: "Math" },
      { answers: ["42"], family: "Math", kind: "judge" },
    ],
    [
      "webwalker",
      {
        question: "Q",
        answer: "A",
        root_url: "https://x.org",
        info: { type: "multi_source", difficulty_level: "hard", domain: "game", lang: "en" },
      },
      { family: "multi_source", level: "hard" },
    ],
    ["nq", { question: "q", answer: ["a", "b"], data_source: "nq" }, { answers: ["a", "b"], kind: "qa" }],
    ["nq", { id: "test_0", question: "q", golden_answers: ["a"], metadata: {} }, { id: "nq/test_0", answers: ["a"] }],
    [
      "triviaqa",
      {
        question: "q",
        question_id: "tc_1",
        answer: { value: "Sinclair", aliases: ["Sinclair Lewis", "Sinclair"], normalized_aliases: ["sinclair"] },
      },
      { id: "triviaqa/tc_1", answers: ["Sinclair", "Sinclair Lewis"] },
    ],
    [
      "popqa",
      { id: 7, question: "q", prop: "occupation", possible_answers: '["politician", "pol"]' },
      { answers: ["politician", "pol"], family: "occupation" },
    ],
    [
      "hotpotqa",
      { id: "5a", question: "q", answer: "yes", type: "comparison", level: "hard" },
      { answers: ["yes"], family: "comparison", level: "hard" },
    ],
    [
      "2wiki",
      { _id: "2w", question: "q", answer: "x", type: "bridge_comparison" },
      { id: "2wiki/2w", family: "bridge_comparison" },
    ],
    [
      "musique",
      { id: "2hop__1", question: "q", answer: "x", answer_aliases: ["y"], answerable: true },
      { answers: ["x", "y"] },
    ],
    ["bamboogle", { Question: "q", Answer: "a" }, { question: "q", answers: ["a"] }],
    [
      "aime24",
      { ID: "2024-I-1", Problem: "p", Solution: "s", Answer: 204 },
      { id: "aime24/2024-I-1", answers: ["204"], kind: "math" },
    ],
    ["aime25", { problem: "p", answer: "70", id: "0" }, { answers: ["70"] }],
    [
      "math500",
      {
        problem: "p",
        solution: "s",
        answer: "\\frac12",
        subject: "Algebra",
        level: 3,
        unique_id: "test/algebra/1.json",
      },
      { family: "Algebra", level: 3, answers: ["\\frac12"] },
    ],
    ["amc23", { id: 0, question: "p", answer: "27.0", url: "u" }, { answers: ["27.0"] }],
    [
      "olympiadbench",
      { id: 1606, question: "q", final_answer: ["2,5"], subfield: "Algebra", context: null },
      { answers: ["2,5"], family: "Algebra" },
    ],
    [
      "olympiadbench",
      {
        prompt: [{ role: "user", content: "rules\n\nTask:\nCompute x." }],
        reward_model: { ground_truth: "$2$", style: "rule" },
        extra_info: { index: "9" },
      },
      { id: "olympiadbench/9", question: "Compute x.", answers: ["$2$"] },
    ],
    [
      "nq",
      {
        data_source: "nq",
        prompt: [{ role: "user", content: "who?" }],
        reward_model: { ground_truth: '{"target":["a","b"],"question":"who?"}' },
      },
      { question: "who?", answers: ["a", "b"] },
    ],
  ];
  for (const [name, row, wanted] of shapes) {
    it(`reads ${name} with fields ${Object.keys(row).join(", ")}`, () => {
      const task = read(name, row);
      for (const [key, value] of Object.entries(wanted)) assert.deepEqual(task[key as keyof Task], value, key);
    });
  }

  it("covers every benchmark that it names", () => {
    const covered = new Set(shapes.map(([name]) => findBenchmark(name)?.name));
    const code = ["livecodebench-v4", "livecodebench-v5", "codecontests"];
    assert.deepEqual(
      benchmarks.map(({ name }) => name).filter((name) => !covered.has(name) && !code.includes(name)),
      [],
    );
  });

  it("opens BrowseComp's encrypted rows", () => {
    const lock = (text: string, canary: string) => {
      const key = createHash("sha256").update(canary).digest();
      return Buffer.from(Buffer.from(text).map((byte, i) => byte ^ key[i % key.length]!)).toString("base64");
    };
    const task = read("browsecomp", {
      problem: lock("Who wrote it, and when exactly, in which of the two cities?", "k"),
      answer: lock("Ada", "k"),
      canary: "k",
    });
    assert.equal(task.question, "Who wrote it, and when exactly, in which of the two cities?");
    assert.deepEqual(task.answers, ["Ada"]);
  });

  it("reads LiveCodeBench tests: plain, compressed, standard input and calls", () => {
    const cases = [{ input: "[1,2]\n3", output: "6", testtype: "functional" }];
    const text = Buffer.from(JSON.stringify([{ input: "[5]\n1", output: "6", testtype: "functional" }]));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    const pickle = Buffer.concat([
      Buffer.from([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0, 0x58]),
      length,
      text,
      Buffer.from([0x94, 0x2e]),
    ]);
    const row = {
      question_id: "3",
      question_content: "Add.",
      starter_code: "class Solution:",
      metadata: '{"func_name":"add"}',
      public_test_cases: JSON.stringify(cases),
      private_test_cases: deflateSync(pickle).toString("base64"),
      difficulty: "easy",
      platform: "leetcode",
    };
    const task = read("livecodebench-v5", row);
    assert.deepEqual(task.tests, {
      functionName: "add",
      inputs: ["[[1,2],3]", "[[5],1]"],
      outputs: ["6", "6"],
      starterCode: "class Solution:",
    });
    assert.equal(task.level, "easy");
  });

  it("reads CodeContests with its limits", () => {
    const row = {
      name: "1575_A",
      description: "Sort.",
      public_tests: { input: ["1"], output: ["1"] },
      private_tests: { input: ["2"], output: ["2"] },
      generated_tests: { input: [], output: [] },
      time_limit: { seconds: 2, nanos: 500000000 },
      memory_limit_bytes: 256000000,
    };
    assert.deepEqual(read("codecontests", row).tests, {
      inputs: ["1", "2"],
      outputs: ["1", "2"],
      timeLimitMs: 2500,
      memoryLimitMb: 256,
    });
    const trained = {
      prompt: [{ role: "user", content: "Task: Sort." }],
      reward_model: { ground_truth: JSON.stringify({ inputs: ["1"], outputs: ["1"] }) },
    };
    assert.deepEqual(read("codecontests", trained).tests, { inputs: ["1"], outputs: ["1"] });
  });

  it("says which row has no question", () => {
    assert.throws(() => read("nq", { text: "x" }), /row 1: no question in it \(fields: text\)/);
  });
});

describe("loadTasks", async () => {
  const folder = await mkdtemp(join(tmpdir(), "coa-tasks-"));
  after(() => rm(folder, { recursive: true, force: true }));
  const rows = Array.from({ length: 50 }, (_, i) => ({ question: `q${i}`, answer: `a${i}`, level: (i % 2) + 1 }));

  it("reads the same tasks from JSON, JSONL and parquet", async () => {
    const files = ["mine.json", "mine.jsonl", "mine.parquet"].map((name) => join(folder, name));
    await writeFile(files[0]!, JSON.stringify(rows));
    await writeFile(files[1]!, rows.map((row) => JSON.stringify(row)).join("\n"));
    parquetWriteFile({
      filename: files[2]!,
      columnData: [
        { name: "question", data: rows.map((r) => r.question) },
        { name: "answer", data: rows.map((r) => r.answer) },
        { name: "level", data: rows.map((r) => r.level), type: "INT32" },
      ],
    });
    const [json, jsonl, parquet] = await Promise.all(files.map((file) => loadTasks(file)));
    assert.deepEqual(json, jsonl);
    assert.deepEqual(json, parquet);
    assert.deepEqual(json?.[3], {
      version: 1,
      id: "mine/3",
      question: "q3",
      kind: "qa",
      answers: ["a3"],
      family: "mine",
      level: 2,
      source: "mine",
    });
  });

  it("takes the same sample for the same seed and another for another", async () => {
    const file = join(folder, "sampled.jsonl");
    await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
    const ids = async (seed: number) => (await loadTasks(file, { limit: 10, seed })).map((task) => task.id);
    assert.deepEqual(await ids(1), await ids(1));
    assert.notDeepEqual(await ids(1), await ids(2));
    const levelTwo = await loadTasks(file, { levels: ["2"] });
    assert.equal(levelTwo.length, 25);
  });

  it("keeps tasks of ours as they are and tells equal ids apart", async () => {
    const file = join(folder, "ours.jsonl");
    const task = { version: 1, id: "x", question: "q", kind: "math", answers: ["1"] };
    await writeFile(file, `${JSON.stringify(task)}\n${JSON.stringify(task)}\n`);
    assert.deepEqual(
      (await loadTasks(file)).map(({ id, kind }) => [id, kind]),
      [
        ["x", "math"],
        ["x#2", "math"],
      ],
    );
  });

  it("names the benchmarks it knows when asked for another", async () => {
    await assert.rejects(
      loadTasks(join(folder, "mine.json"), { benchmark: "gaiaa" }),
      /unknown benchmark "gaiaa"; known: gaia, /,
    );
    await assert.rejects(loadTasks(join(folder, "x.xlsx")), /\.json, \.jsonl, \.csv, \.tsv or \.parquet/);
  });
});
