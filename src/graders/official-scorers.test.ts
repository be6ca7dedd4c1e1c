import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { generatedAnswers } from "../../test/fixtures/generated-answers.ts";
import { testSize } from "../../test/fixtures/test-size.ts";
import { endlessMs } from "../../test/fixtures/until.ts";
import { defineTask } from "../core/task.ts";
import { pyodideSandbox } from "../tools/sandbox/pyodide-launch.ts";
import { officialSame } from "./code/grade-code.ts";
import { gradeGaia } from "./grade-gaia.ts";
import { exactMatch, gradeQa, wordF1 } from "./grade-qa.ts";
import { gradeTask } from "./grade-task.ts";

/** The same rules once more, in the language the official programs are written in, by another way of writing them. */
const second = `
import json, sys, string, unicodedata
from decimal import Decimal, InvalidOperation
def number(text):
    try: return float(text)
    except ValueError: return None
def gaia(gold, answer):
    def item(g, a, signs):
        n = number(g)
        if n is not None:
            m = number("".join(c for c in a if c not in "$%,"))
            return (float("inf") if m is None else m) == n
        keep = lambda t: "".join(c for c in "".join(t.split()).lower() if signs or c not in string.punctuation)
        return keep(g) == keep(a)
    if number(gold) is None and ("," in gold or ";" in gold):
        gs, ans = gold.replace(";", ",").split(","), answer.replace(";", ",").split(",")
        return len(gs) == len(ans) and all(item(g, a, True) for g, a in zip(gs, ans))
    return item(gold, answer, False)
def words(text, part=False):
    signs = string.punctuation + ("‘’´" if part else "")
    kept = "".join(c if c not in signs else " " if part else "" for c in text.lower())
    runs, run = [], ""
    for c in kept + " ":
        if c.isalnum() or c == "_": run += c
        else:
            runs += [" " if run in ("a", "an", "the") else run, c]
            run = ""
    return "".join(runs).split()
def f1(gold, answer, closed):
    g, a = words(gold), words(answer)
    if closed and g != a and (" ".join(g) in ("yes", "no", "noanswer") or " ".join(a) in ("yes", "no", "noanswer")): return 0
    left, common = list(g), 0
    for w in a:
        if w in left:
            left.remove(w)
            common += 1
    return 0 if common == 0 else 2 * common / (len(g) + len(a))
def decimals(line):
    try: return [Decimal(w) for w in line.split()]
    except InvalidOperation: return None
def printed(gold, answer):
    g, a = [[line.strip() for line in t.strip().split("\\n")] for t in (gold, answer)]
    if len(g) != len(a): return False
    for x, y in zip(g, a):
        if x == y: continue
        dx, dy = decimals(x), decimals(y)
        if dx is None or dy is None or dx != dy: return False
    return True
def first(gold, answer): return words(answer.split("|")[0] if "|" not in gold else answer) == words(gold)
def every(gold, answer): return all(words(p) == words(gold) for p in ([answer] if "|" in gold else answer.split("|")))
print(json.dumps([[gaia(g, a), words(g) == words(a), f1(g, a, False), f1(g, a, True), printed(g, a), first(g, a), every(g, a), words(g, True) == words(a, True)] for g, a in json.load(sys.stdin)]))
`;

/** What ours say, in the order of the second implementation's columns. */
function ours(gold: string, answer: string): (boolean | number)[] {
  const parts = (how: "first" | "every") => gradeQa([gold], answer, { parts: how }).correct as boolean;
  return [
    gradeGaia([gold], answer).correct as boolean,
    exactMatch(gold, answer),
    wordF1(gold, answer),
    wordF1(gold, answer, { yesNo: true }),
    officialSame(gold, answer),
    parts("first"),
    parts("every"),
    gradeTriviaQa(gold, answer),
  ];
}
const gradeTriviaQa = (gold: string, answer: string) => exactMatch(gold, answer, { signsPart: true });
const columns = [
  "gaia",
  "exact match",
  "F1",
  "HotpotQA's F1",
  "LiveCodeBench's output",
  "first part",
  "every part",
  "TriviaQA's match",
];

describe("the official scorers", () => {
  const sandbox = pyodideSandbox({ warm: 1, isolation: "run" });
  after(() => sandbox.close());
  // An empty answer is no answer here, before any rule is asked.
  const asked = generatedAnswers(testSize(400, 4000)).filter(([, answer]) => answer.trim() !== "");

  it("give the verdicts of a second implementation in Python on generated answers", async (t) => {
    const { stdout, stderr } = await sandbox.run({
      language: "python",
      code: second,
      stdin: JSON.stringify(asked),
      limits: { cpuMs: 120_000, wallMs: endlessMs, outputCharacters: 10_000_000 },
    });
    assert.equal(stderr, "");
    const theirs = JSON.parse(stdout) as (boolean | number)[][];
    const different: string[] = [];
    const rights = columns.map(() => 0);
    for (const [at, [gold, answer]] of asked.entries()) {
      for (const [column, mine] of ours(gold, answer).entries()) {
        const other = theirs[at]![column]!;
        if (mine === true) rights[column]!++;
        const same = typeof mine === "number" ? Math.abs(mine - Number(other)) < 1e-12 : mine === other;
        if (!same)
          different.push(`${columns[column]}: ${JSON.stringify(gold)} / ${JSON.stringify(answer)}: ${mine}, ${other}`);
      }
    }
    t.diagnostic(
      `${asked.length} pairs; right by column: ${columns.map((name, i) => `${name} ${rights[i]}`).join(", ")}`,
    );
    assert.deepEqual(different.slice(0, 20), []);
    assert.ok(
      rights.every((count, i) => typeof theirs[0]![i] === "number" || count > asked.length / 15),
      "both verdicts must occur",
    );
  });

  it("tell apart what GAIA's own items tell apart", () => {
    const gold = "(¬A → B) ↔ (A ∨ ¬B)";
    assert.equal(gradeGaia([gold], gold).correct, true);
    assert.equal(gradeGaia([gold], "¬(A ∧ B) ↔ (¬A ∨ ¬B)").correct, false);
    assert.equal(gradeGaia([gold], "(A → B) ↔ (¬A ∨ B)").correct, false);
    assert.equal(gradeGaia(["inf"], "no idea").correct, true, "the official rule reads what it can't read as infinity");
    assert.equal(gradeGaia(["inf"], "no idea", "strict").correct, false);
  });

  it("part words at signs in TriviaQA, and nowhere else", async () => {
    const graded = async (scorer: string) => {
      const task = defineTask({ id: "t", question: "q", kind: "qa", scorer, answers: ["J.R.R. Tolkien", "Xavier’s"] });
      return Promise.all(
        ["j r r tolkien", "JRR Tolkien", "xavier s"].map(async (answer) => (await gradeTask(task, answer)).correct),
      );
    };
    assert.deepEqual(await graded("triviaqa"), [true, false, true]);
    assert.deepEqual(await graded("squad"), [false, true, false]);
  });

  it("read several answers in the two ways of the reference, and in one piece", () => {
    const golds = ["Paris", "Paname"];
    const right = (answer: string, parts: "first" | "every" | "whole") => gradeQa(golds, answer, { parts }).correct;
    assert.deepEqual([right("Paris | Lyon", "first"), right("Paris | Lyon", "every")], [true, false]);
    assert.deepEqual([right("Paris | Paname", "first"), right("Paris | Paname", "every")], [true, true]);
    assert.deepEqual([right("Lyon | Paris", "first"), right("Paris | Lyon", "whole")], [false, false]);
    assert.equal(gradeQa(["93 metres | eleven"], "93 metres | eleven", { parts: "every" }).correct, true);
    assert.equal(gradeQa(["93 metres | eleven"], "93 metres", { parts: "first" }).correct, false);
  });
});
