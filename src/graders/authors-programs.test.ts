/**
 * The authors' own programs beside ours on the same answers. They are not ours to ship: `COA_TEST_SCORERS` names a folder
 * that has them, each under the path that its test names; what is not there is skipped.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { generatedAnswers } from "../../test/fixtures/generated-answers.ts";
import { cases } from "../../test/fixtures/official-code-cases.ts";
import { officialSame } from "./code/grade-code.ts";
import { gradeGaia } from "./grade-gaia.ts";
import { exactMatch, wordF1 } from "./grade-qa.ts";
import { fillPrompt, judges } from "./judges/judges.ts";

const folder = process.env["COA_TEST_SCORERS"] ?? "";
const missing = (file: string) =>
  !existsSync(join(folder, file)) && `set COA_TEST_SCORERS to a folder with the authors' ${file}`;

/** Loads a module by path, with stand-ins for what scorers import but scoring does not need. */
const loader = `
import importlib.util, json, sys, os, types, contextlib, io
sys.modules["ujson"] = json
for name in ("pandas", "utils", "utils.dataset_utils", "utils.utils"): sys.modules[name] = types.ModuleType(name)
def load(path, name="scorer"):
    path = os.path.join(sys.argv[1], path)
    sys.path.insert(0, os.path.dirname(os.path.dirname(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
def answer(rows):
    sys.__stdout__.write(json.dumps(rows))
`;

/** What a Python program says about an input; it is the authors' code, so it runs in a process of its own. */
function inPython<T>(program: string, input: unknown): T {
  const { stdout, stderr, status } = spawnSync("python3", ["-W", "ignore", "-c", loader + program, folder], {
    input: JSON.stringify(input),
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as T;
}

// An empty answer is no answer here, before any rule is asked.
const asked = generatedAnswers(4000).filter(([, answer]) => answer.trim() !== "");

/** Compares figures column by column and names what differs. */
function assertSame(theirs: unknown[][], ours: (gold: string, answer: string) => unknown[]): void {
  assert.equal(theirs.length, asked.length);
  const different: string[] = [];
  for (const [at, row] of theirs.entries()) {
    const [gold, answer] = asked[at]!;
    for (const [column, mine] of ours(gold, answer).entries())
      if (Math.abs(Number(mine) - Number(row[column])) > 1e-12)
        different.push(`${column}: ${JSON.stringify(gold)} / ${JSON.stringify(answer)}: ${mine}, ${row[column]}`);
  }
  assert.deepEqual(different.slice(0, 20), []);
}

const quietly = (body: string) => `
rows = []
for gold, said in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        rows.append(${body})
answer(rows)`;

describe("the authors' own programs", () => {
  const gaia = "gaia/scorer.py";
  it("of GAIA give the same verdicts", { skip: missing(gaia) }, () => {
    const program = `s = load("${gaia}")${quietly("[bool(s.question_scorer(said, gold))]")}`;
    assertSame(inPython(program, asked), (gold, answer) => [gradeGaia([gold], answer).correct]);
  });

  const squad = "squad/evaluate-v1.1.py";
  it("of SQuAD give the same match and F1", { skip: missing(squad) }, () => {
    const program = `s = load("${squad}")${quietly("[s.exact_match_score(said, gold), s.f1_score(said, gold)]")}`;
    assertSame(inPython(program, asked), (gold, answer) => [exactMatch(gold, answer), wordF1(gold, answer)]);
  });

  for (const file of ["hotpotqa/hotpot_evaluate_v1.py", "2wiki/2wikimultihop_evaluate_v1.1.py"]) {
    it(`of ${file.split("/")[0]} give the same match and F1`, { skip: missing(file) }, () => {
      const program = `s = load("${file}")${quietly("[s.exact_match_score(said, gold), s.f1_score(said, gold)[0]]")}`;
      const f1 = (gold: string, answer: string) => wordF1(gold, answer, { yesNo: true });
      assertSame(inPython(program, asked), (gold, answer) => [exactMatch(gold, answer), f1(gold, answer)]);
    });
  }

  const musique = "musique/metrics/answer.py";
  it("of MuSiQue give the same match and F1, but for answers of which nothing is left", {
    skip: missing(musique),
  }, () => {
    const program = `s = load("${musique}")${quietly("[s.compute_exact(gold, said), s.compute_f1(gold, said)]")}`;
    // Its F1 of two empty texts is 1, SQuAD's is 0.
    const empty = (gold: string, answer: string) => exactMatch(gold, "the") && exactMatch(answer, "the");
    assertSame(inPython(program, asked), (gold, answer) => [
      exactMatch(gold, answer),
      empty(gold, answer) ? 1 : wordF1(gold, answer),
    ]);
  });

  const trivia = "triviaqa/triviaqa_evaluation.py";
  it("of TriviaQA give the same match and F1", { skip: missing(trivia) }, () => {
    const program = `s = load("${trivia}")${quietly("[s.exact_match_score(said, gold), s.f1_score(said, gold)]")}`;
    const how = { signsPart: true };
    assertSame(inPython(program, asked), (gold, answer) => [exactMatch(gold, answer, how), wordF1(gold, answer, how)]);
  });

  const lcb = "livecodebench/testing_util.py";
  it("of LiveCodeBench accept the same output", { skip: missing(lcb) }, () => {
    const program = `
s = load("${lcb}")
import signal
signal.signal(signal.SIGALRM, s.timeout_handler)
rows = []
for gold, said in json.load(sys.stdin):
    results, _ = s.grade_stdio("print(" + repr(said) + ", end='')", [""], [gold], 60)
    rows.append([all(r == True for r in results)])
answer(rows)`;
    assertSame(inPython(program, asked), (gold, answer) => [officialSame(gold, answer)]);
  });

  it("of LiveCodeBench give the verdicts that every sandbox is held to", { skip: missing(lcb) }, () => {
    const plain = cases.filter(({ tests }) => !tests.tolerance && !tests.alsoRight);
    for (const { name, tests, code, wanted } of plain) {
      // Arguments stand one a line there.
      const inputs = tests.functionName
        ? tests.inputs.map((input) => (JSON.parse(input) as unknown[]).map((value) => JSON.stringify(value)).join("\n"))
        : tests.inputs;
      const sample = { input_output: JSON.stringify({ inputs, outputs: tests.outputs, fn_name: tests.functionName }) };
      const program = `
s = load("${lcb}")
s.reliability_guard = lambda *a: None
sample, code = json.load(sys.stdin)
with contextlib.redirect_stdout(io.StringIO()):
    results, _ = s.run_test(sample, test=code, timeout=60)
answer(all(r == True for r in results))`;
      if (name === "an object that equals everything") continue; // Theirs asks the answer itself whether it is right.
      assert.equal(inPython<boolean>(program, [sample, code]), wanted, name);
    }
  });

  const simpleEvals = "simple-evals/browsecomp_eval.py";
  it("of simple-evals ask the same and read well-formed replies the same", { skip: missing(simpleEvals) }, () => {
    const replies = asked.slice(0, 500).map(([gold, said], i) => ({
      question: gold,
      gold: said,
      answer: `Exact Answer: ${gold}`,
      yesNo: `extracted_final_answer: ${said.replace(/\n/g, " ")}\n\nreasoning: it ${i % 2 ? "is" : "is not"} so.\n\ncorrect: ${i % 2 ? "yes" : "no"}\n\nconfidence: ${i % 101}%`,
      letter: "ABC"[i % 3]!,
    }));
    const program = `
for name in ("common", "types"): sys.modules["simple_evals." + name] = types.ModuleType(name)
for name in ("Eval", "EvalResult", "SamplerBase", "SingleEvalResult"): setattr(sys.modules["simple_evals.types"], name, object)
sys.modules["simple_evals"] = types.ModuleType("simple_evals")
sys.modules["simple_evals"].__path__ = []
sys.modules["simple_evals"].common = sys.modules["simple_evals.common"]
browse = load("simple-evals/browsecomp_eval.py", "simple_evals.browsecomp_eval")
simple = load("simple-evals/simpleqa_eval.py", "simple_evals.simpleqa_eval")
class Sampler:
    def _pack_message(self, content, role): self.content = content
    def __call__(self, messages): return types.SimpleNamespace(response_text=self.reply)
rows = []
for row in json.load(sys.stdin):
    out = []
    for module, kind, reply in ((browse, "BrowseCompEval", row["yesNo"]), (simple, "SimpleQAEval", row["letter"])):
        evaluation = getattr(module, kind).__new__(getattr(module, kind))
        evaluation.grader_model = Sampler()
        evaluation.grader_model.reply = reply
        grade = evaluation.grade_sample(row["question"], row["gold"], row["answer"])
        out += [evaluation.grader_model.content, grade.replace("correct: ", "")]
    rows.append(out)
answer(rows)`;
    for (const [i, theirs] of inPython<string[][]>(program, replies).entries()) {
      const { yesNo, letter, ...values } = replies[i]!;
      assert.equal(fillPrompt(judges.browsecomp, values), theirs[0]);
      assert.equal(judges.browsecomp.read(yesNo)?.correct, theirs[1] === "yes", yesNo);
      assert.equal(fillPrompt(judges.simpleqa, values).trim(), theirs[2]!.trim());
      assert.equal(judges.simpleqa.read(letter)?.correct, theirs[3] === "A");
    }
  });

  it("of BrowseComp hide rows the way we read them", { skip: missing(simpleEvals) }, async () => {
    const { taskFromRow, findBenchmark } = await import("../tasks/benchmarks/benchmarks.ts");
    const program = `
sys.modules["simple_evals"] = types.ModuleType("simple_evals")
sys.modules["simple_evals"].__path__ = []
sys.modules["simple_evals"].common = sys.modules["simple_evals.common"] = types.ModuleType("common")
sys.modules["simple_evals.types"] = types.ModuleType("types")
for name in ("Eval", "EvalResult", "SamplerBase", "SingleEvalResult"): setattr(sys.modules["simple_evals.types"], name, object)
s = load("simple-evals/browsecomp_eval.py", "simple_evals.browsecomp_eval")
import base64
def hide(text, key): return base64.b64encode(bytes(a ^ b for a, b in zip(text.encode(), s.derive_key(key, len(text.encode()))))).decode()
answer([[hide(a, "canary"), hide(b, "canary"), s.decrypt(hide(a, "canary"), "canary")] for a, b in json.load(sys.stdin)])`;
    const texts = asked.filter(([gold, answer]) => gold.trim() && answer.trim()).slice(0, 200);
    for (const [i, [problem, answer, plain]] of inPython<string[][]>(program, texts).entries()) {
      const task = taskFromRow({ problem, answer, canary: "canary" }, i, findBenchmark("browsecomp"), "x.csv");
      assert.equal(task.question.trim(), plain!.trim());
      assert.equal(task.answers![0]!.trim(), texts[i]![1].trim());
    }
  });
});
