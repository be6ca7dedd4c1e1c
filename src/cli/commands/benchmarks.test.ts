import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { emptyUsage } from "../../core/usage.ts";
import { defineSystem } from "../../evaluate/define-system.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { benchmarks } from "../../tasks/benchmarks/benchmarks.ts";
import { loadBenchmark } from "../../tasks/benchmarks/load-tasks.ts";
import { readSettings } from "../command.ts";
import { inSession } from "../session.ts";
import { openGrader } from "./eval-grading.ts";

const shared = { note: () => {}, signal: new AbortController().signal };
const grading = (flags: object) => readSettings({ name: "eval run", reads: ["judge", "grader"] }, { ...flags }, {});

const encrypted = (text: string): string => {
  const key = createHash("sha256").update("c").digest();
  return Buffer.from(Buffer.from(text).map((byte, i) => byte ^ key[i % key.length]!)).toString("base64");
};
const stdin = JSON.stringify([{ input: "3", output: "1.5", testtype: "stdin" }]);
const lcb = {
  question_id: "q1",
  question_content: "Halve.",
  contest_date: "2024-09-01",
  public_test_cases: stdin,
  private_test_cases: stdin,
  metadata: "{}",
};
const halve = '```py\nfrom decimal import Decimal\nprint(f"{Decimal(input()) / 2:.2f}")\n```';

/** One row of each benchmark as it is published, an answer that its authors' rule takes and one that it does not. */
const published: Record<string, [file: string, text: string, right: string, wrong: string]> = {
  gaia: ["gaia_validation.json", '[{"task_id":"a","Question":"q","Level":1,"Final answer":"3.0","file_name":""}]', "$3", "3 apples"],
  browsecomp: ["browsecomp_test.csv", `problem,answer,problem_topic,canary\n${encrypted("Who?")},${encrypted("Ada")},Art,c\n`, "Ada", "nobody"],
  hle: ["hle_test.json", '[{"id":"a","question":"q","answer":"42","image":"","answer_type":"exactMatch","category":"Math"}]', "42", "nobody"],
  webwalker: ["webwalker_main.json", '[{"question":"q","answer":"A","root_url":"u","info":{"type":"single_source","difficulty_level":"easy","lang":"en"}}]', "A", "nobody"],
  nq: ["nq_test.jsonl", '{"question":"q","answer":["the Beatles"]}', "Beatles!", "Stones"],
  triviaqa: ["triviaqa-dev.json", '{"Data":[{"Question":"q","QuestionId":"t","Answer":{"Value":"Sinclair","Aliases":["Lewis"]}}]}', "lewis", "x"],
  popqa: ["popqa.tsv", 'id\tprop\tquestion\tpossible_answers\n1\tjob\tq\t"[""poet""]"\n', "a poet", "x"],
  hotpotqa: ["hotpotqa_dev.json", '[{"_id":"1","question":"q","answer":"yes","type":"comparison","level":"hard"}]', "Yes", "no"],
  "2wiki": ["2wiki_dev.json", '[{"_id":"1","question":"q","answer":"x y","type":"bridge"}]', "X, Y", "y x"],
  musique: ["musique_dev.jsonl", '{"id":"1","question":"q","answer":"x","answer_aliases":["y"],"answerable":true}', "y | z", "z | y"],
  bamboogle: ["bamboogle.csv", "Question,Answer\nq,Ada\n", "ada", "Bob"],
  "livecodebench-v4": ["livecodebench_v4_test.jsonl", JSON.stringify(lcb), halve, "print(1)"],
  "livecodebench-v5": ["livecodebench_v5_test.jsonl", JSON.stringify(lcb), halve, "print(1)"],
  codecontests: ["codecontests_test.jsonl", '{"name":"a","description":"Halve.","public_tests":{"input":["3"],"output":["1.5"]},"private_tests":{"input":[],"output":[]},"time_limit":{"seconds":1,"nanos":0}}', halve, "print(1)"],
  aime24: ["aime24.jsonl", '{"ID":"2024-I-1","Problem":"p","Solution":"s","Answer":204}', "\\boxed{204}", "205"],
  aime25: ["aime25.jsonl", '{"problem":"p","answer":"70","id":"0"}', "70.0", "71"],
  math500: ["math500_test.jsonl", '{"problem":"p","solution":"s","answer":"\\\\frac{1}{2}","subject":"Algebra","level":3,"unique_id":"u"}', "0.5", "2"],
  amc23: ["amc23.jsonl", '{"id":0,"question":"p","answer":"27.0","url":"u"}', "27", "28"],
  olympiadbench: ["olympiadbench.json", '[{"id":1,"question":"q","final_answer":["2,5"],"subfield":"Algebra","context":null}]', "\\{5, 2\\}", "2"],
}; // biome-ignore format: rows as they are published

describe("every benchmark, from its published file to a summary that says what was measured", () => {
  let folder = "";
  let server: Server;
  let url = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-benchmarks-"));
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        if (request.method !== "POST") return response.writeHead(404).end();
        const asked = String(JSON.parse(body).messages.at(-1).content);
        const right = !asked.includes("nobody");
        const content = `correct: ${right ? "yes" : "no"}\nconfidence: 80\nGRADE: ${right ? "CORRECT" : "INCORRECT"}`;
        const reply = { choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] };
        return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  after(async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("has a row here", () => {
    assert.deepEqual(Object.keys(published).sort(), benchmarks.map(({ name }) => name).sort());
  });

  for (const [name, [file, text, right, wrong]] of Object.entries(published)) {
    it(name, async () => {
      const path = join(folder, file);
      await writeFile(path, text);
      const { tasks: loaded, source } = await loadBenchmark(path);
      assert.deepEqual([loaded.length, source.benchmark, source.publicTestsOnly], [1, name, false]);
      await inSession(shared, async (session) => {
        const judged = grading({ "judge-url": url, "judge-model": "judge" });
        const graders = await openGrader(judged, session, loaded);
        const answers = [right, wrong];
        const system = defineSystem({
          name: "fixed",
          run: async (_task, { sample }) => ({
            answer: answers[sample]!,
            ending: { reason: "answered" },
            usage: emptyUsage(),
            toolCalls: {},
            tokensByRole: {},
          }),
        });
        const { publicTestsOnly: _, ...from } = source;
        const { summary, records } = await runEvaluation(graders.tasks, system, {
          folder: join(folder, name),
          grader: graders.grader,
          measure: { ...from, ...graders.measure },
          samples: 2,
          concurrency: 1,
        });
        assert.deepEqual(
          records.map(({ grade }) => grade.correct),
          [true, false],
          records.map(({ grade }) => grade.reason).join("; "),
        );
        const stored = JSON.parse(await readFile(join(folder, name, "summary.json"), "utf8")) as typeof summary;
        const { measure } = stored;
        assert.equal(measure?.file, file);
        assert.match(measure?.fileHash ?? "", /^[0-9a-f]{16}$/);
        const split = /test|dev|validation|main/.exec(file)?.[0];
        assert.equal(measure?.split, split);
        const benchmark = benchmarks.find((one) => one.name === name)!;
        if (benchmark.judge) {
          assert.equal(measure?.judges[0]?.name, benchmark.judge);
          assert.match(measure?.judges[0]?.promptHash ?? "", /^[0-9a-f]{12}$/);
          assert.ok(records[0]!.grade.scorer!.startsWith(`judge ${benchmark.judge} ${measure!.judges[0]!.promptHash}`));
        } else assert.ok(measure?.scorers[0]?.startsWith(benchmark.scorer!), measure?.scorers.join());
        if (name === "hle") assert.ok(Math.abs(stored.calibrationError! - 0.3) < 1e-9, "80 % sure, half of them right");
      });
    });
  }

  it("refuses a judge without a model, and judges any benchmark where asked to", async () => {
    const { tasks } = await loadBenchmark(join(folder, "gaia_validation.json"));
    const measured = (flags: object) =>
      inSession(shared, async (session) => {
        const { tasks: graded, measure } = await openGrader(grading(flags), session, tasks);
        return [graded[0]?.kind, measure.judges[0]?.name];
      });
    await assert.rejects(
      measured({ set: ["grader.judgeAll"] }),
      /1 of 1 tasks are decided by a judge: name one with --judge-model/,
    );
    await assert.rejects(measured({ judge: "hlee", "judge-model": "x" }), /there is no judge "hlee"/);
    assert.throws(() => grading({ set: ["grader.scoring=kind"] }), /grader.scoring takes official or strict/);
    const flags = { set: ["grader.judgeAll"], judge: "afm", "judge-model": "judge", "judge-url": url };
    assert.deepEqual(await measured(flags), ["judge", "afm"]);
  });
});
