import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { deflateSync } from "node:zlib";
import { gradeTask } from "../../graders/grade-task.ts";
import { loadBenchmark, loadTasks } from "./load-tasks.ts";

const encrypted = (text: string, canary: string): string => {
  const key = createHash("sha256").update(canary).digest();
  return Buffer.from(Buffer.from(text).map((byte, i) => byte ^ key[i % key.length]!)).toString("base64");
};

describe("published files", () => {
  let folder = "";
  before(async () => void (folder = await mkdtemp(join(tmpdir(), "coa-files-"))));
  after(() => rm(folder, { recursive: true, force: true }));
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };

  it("reads BrowseComp's CSV and decrypts it", async () => {
    const rows = [1, 2].map((n) => `${encrypted(`Who, "exactly", is ${n}?`, `c${n}`)},${encrypted(`Ada ${n}`, `c${n}`)},Art,c${n}`);
    const file = await write("browse_comp_test_set.csv", `problem,answer,problem_topic,canary\n${rows.join("\r\n")}\r\n`);
    const { tasks, source } = await loadBenchmark(file, { benchmark: "browsecomp" });
    assert.deepEqual(tasks.map(({ question, answers, family, kind }) => [question, answers, family, kind]), [
      ['Who, "exactly", is 1?', ["Ada 1"], "Art", "judge"],
      ['Who, "exactly", is 2?', ["Ada 2"], "Art", "judge"],
    ]);
    assert.deepEqual([source.benchmark, source.split, source.fileHash.length], ["browsecomp", "test", 16]);
  });

  it("reads PopQA's TSV with JSON in quoted fields, and Bamboogle's CSV with line ends in them", async () => {
    const popqa = await write("popqa.tsv", 'id\tprop\tquestion\tpossible_answers\n7\toccupation\tWho?\t"[""politician"", ""pol""]"\n');
    const [first] = await loadTasks(popqa);
    assert.deepEqual([first?.answers, first?.family, first?.scorer], [["politician", "pol"], "occupation", "squad"]);
    const bamboogle = await write("bamboogle.csv", '\ufeffQuestion,Answer\n"Who, after\nall?",Ada\nWhen?,"5, maybe"\n\n');
    assert.deepEqual(
      (await loadTasks(bamboogle)).map(({ question, answers }) => [question, answers]),
      [["Who, after\nall?", ["Ada"]], ["When?", ["5, maybe"]]],
    );
    const torn = await write("torn.csv", "Question,Answer\na\n");
    await assert.rejects(loadTasks(torn), /torn.csv:2: 1 fields where the first line names 2/);
    const open = await write("open.csv", 'Question,Answer\n"a,b\n');
    await assert.rejects(loadTasks(open), /open.csv:2: a quoted field is never closed/);
  });

  it("reads TriviaQA's own release", async () => {
    const Answer = { Value: "Sinclair", Aliases: ["Sinclair Lewis"], NormalizedAliases: ["sinclair"], HumanAnswers: ["S. Lewis"], Type: "WikipediaEntity" };
    const file = await write("triviaqa-dev.json", JSON.stringify({ Data: [{ Question: "Who?", QuestionId: "tc_1", Answer }], Version: 1 }));
    const { tasks, source } = await loadBenchmark(file);
    assert.deepEqual([tasks[0]?.id, tasks[0]?.answers, source.split], ["triviaqa/tc_1", ["Sinclair", "Sinclair Lewis", "sinclair", "S. Lewis"], "dev"]);
  });

  it("knows a benchmark and its split by the names of published files and folders", async () => {
    const row = JSON.stringify([{ question: "q", answer: "yes" }]);
    const told = async (name: string) => {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      const { source } = await loadBenchmark(await write(name, row));
      return [source.benchmark, source.split];
    };
    assert.deepEqual(await told("hotpot_dev_distractor_v1.json"), ["hotpotqa", "dev"]);
    assert.deepEqual(await told("2wikimultihop-train.json"), ["2wiki", "train"]);
    assert.deepEqual(await told("NQ-open.dev.json"), ["nq", "dev"]);
    assert.deepEqual(await told("Bamboogle Prerelease - Sheet1.json"), ["bamboogle", undefined]);
    assert.deepEqual(await told("validation/musique.json"), ["musique", "validation"]);
    assert.deepEqual(await told("my-questions.json"), [undefined, undefined]);
  });

  it("leaves out HLE's items with pictures where told", async () => {
    const rows = [{ id: "a", question: "q", answer: "1", image: "" }, { id: "b", question: "q", answer: "2", image: "data:image/png;base64,AA" }];
    const file = await write("hle_test.json", JSON.stringify(rows));
    assert.equal((await loadTasks(file)).length, 2);
    assert.deepEqual((await loadTasks(file, { textOnly: true })).map(({ id }) => id), ["hle/a"]);
  });

  it("refuses a benchmark file whose rows have nothing to grade against", async () => {
    const rows = Array.from({ length: 50 }, (_, i) => ({ task_id: `${i}`, Question: "q", Level: 1, "Final answer": "?" }));
    const file = await write("gaia_test.json", JSON.stringify(rows));
    await assert.rejects(loadTasks(file), /50 of 50 rows .* nothing to grade against, for example gaia\/0.*--set eval.allowMissingGolds/s);
    assert.equal((await loadTasks(file, { allowMissingGolds: true })).length, 50);
    const few = [...Array.from({ length: 200 }, (_, i) => ({ question: `q${i}`, answer: ["a"] })), { question: "bare", answer: [] }];
    assert.equal((await loadTasks(await write("nq.json", JSON.stringify(few)))).length, 201);
  });

  it("takes a window of time and the hidden tests of LiveCodeBench, and says when only the public ones are there", async () => {
    const publicTests = JSON.stringify([{ input: "1", output: "1", testtype: "stdin" }]);
    const row = (id: string, contest_date: string) => ({ question_id: id, question_content: `Solve ${id}.`, contest_date, platform: "atcoder", public_test_cases: publicTests, metadata: "{}" });
    const questions = [row("abc1", "2024-08-04T00:00:00"), row("abc2", "2024-10-05T00:00:00")];
    const file = await write("livecodebench_v5.jsonl", questions.map((one) => JSON.stringify(one)).join("\n"));
    const bare = await loadBenchmark(file);
    assert.equal(bare.source.publicTestsOnly, true);
    assert.deepEqual((await loadTasks(file, { since: "2024-10-05" })).map(({ id }) => id), ["livecodebench-v5/abc2"]);
    assert.deepEqual((await loadTasks(file, { until: "2024-10-04" })).map(({ id }) => id), ["livecodebench-v5/abc1"]);
    // The release: private tests compressed, as a pickle that holds one JSON string.
    const hidden = Buffer.from(JSON.stringify([{ input: "2", output: "4", testtype: "stdin" }]));
    const pickle = Buffer.concat([Buffer.from([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0, 0x8c, hidden.length]), hidden, Buffer.from([0x94, 0x2e])]);
    const private_test_cases = deflateSync(pickle).toString("base64");
    await mkdir(join(folder, "release"), { recursive: true });
    await write("release/test.jsonl", questions.map((one) => JSON.stringify({ ...one, private_test_cases })).join("\n"));
    const full = await loadBenchmark(file, { tests: join(folder, "release") });
    assert.equal(full.source.publicTestsOnly, false);
    assert.deepEqual(full.tasks[0]?.tests?.inputs, ["1", "2"]);
    await write("half.jsonl", JSON.stringify({ ...questions[0], private_test_cases }));
    await assert.rejects(loadTasks(file, { tests: join(folder, "half.jsonl") }), /no tests for 1 of 2 questions, for example abc2/);
  });

  it("reads the reference's training rows: question from the truth, kind from the source", async () => {
    const row = (data_source: string, truth: unknown) => ({
      data_source,
      prompt: [{ role: "user", content: "Rules.\n\nQuestion: Who?" }],
      reward_model: { ground_truth: typeof truth === "string" ? truth : JSON.stringify(truth), style: "rule" },
      extra_info: { index: `${data_source}-1` },
    });
    const rows = [row("search", { target: ["Ada"], question: "Who?" }), row("math_dapo", "5"), row("skywork_livecodebench", { inputs: ["1"], outputs: ["1"] }), row("hotpotqa", "yes")];
    const tasks = await loadTasks(await write("rl.json", JSON.stringify(rows)));
    assert.deepEqual(tasks.map(({ kind, question }) => [kind, question]), [["judge", "Who?"], ["math", "Who?"], ["code", "Who?"], ["qa", "Who?"]]);
    assert.equal((await gradeTask(tasks[3]!, "Yes.")).correct, true);
  });
}); // biome-ignore format: rows as they are published
