import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pyodideSandbox } from "../tools/sandbox/pyodide.ts";
import { officialSame } from "./code/same-output.ts";
import { gradeGaia } from "./grade-gaia.ts";
import { exactMatch, gradeQa, wordF1 } from "./grade-qa.ts";

/** A fixed stream of numbers, so that the same answers are generated every time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const words =
  "the a An THE of Paris paris Zürich Ré Réa naïve thé O’Neill O'Neill “Help” x² ½ 北京 Αθήνα İstanbul ﬁne co-op U.S.A. the.end athe a\u0301 1990–1995 1990-1995 yes no ¬A → B ∨ ↔ € $ % & _ a_b".split(
    " ",
  );
const figures =
  "3 3.0 03 +3 -3 3. .5 0.50 1,000 1000 1_000 $1,234.50 12% 1e3 1E+3 inf -Infinity nan ３ ٣ 𝟛 1__0 _1 1_ 0x10 1e 3cm 3 cm −3 1e400 12345678901234567890".split(
    " ",
  );
const blanks = [" ", "  ", "\t", "\u00a0", "\u2003", "\u001c", "\u0085", "\ufeff", "\n", ""];
const joints = [", ", ",", ";", "; ", " | ", " ", "."];

/** Pairs of gold and answer: alike more often than not, so that both verdicts occur often. */
function pairs(count: number): [string, string][] {
  const random = numbers(20260);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const text = (): string => {
    const parts = Array.from({ length: Math.floor(random() * 4) }, () => pick(random() < 0.5 ? words : figures));
    return pick(blanks) + parts.join(pick(random() < 0.6 ? blanks : joints)) + pick(blanks);
  };
  const changed = (gold: string): string => {
    const how = random();
    if (how < 0.2) return gold.toUpperCase();
    if (how < 0.35) return gold.replace(/[.,;%$]/g, "");
    if (how < 0.5) return `the ${gold}${pick([".", "!", " ", "%", "$"])}`;
    if (how < 0.6) return gold.replace(/\s+/gu, pick(blanks));
    if (how < 0.7) return `${gold}${pick(joints)}${text()}`;
    return how < 0.85 ? gold : text();
  };
  return Array.from({ length: count }, (_, i) => {
    const gold = i % 97 === 0 ? text().repeat(400) : text();
    return [gold, changed(gold)];
  });
}

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
def words(text):
    kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
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
print(json.dumps([[gaia(g, a), words(g) == words(a), f1(g, a, False), f1(g, a, True), printed(g, a), first(g, a), every(g, a)] for g, a in json.load(sys.stdin)]))
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
  ];
}
const columns = ["gaia", "exact match", "F1", "HotpotQA's F1", "LiveCodeBench's output", "first part", "every part"];

describe("the official scorers", () => {
  const sandbox = pyodideSandbox({ warm: 1, isolation: "run" });
  after(() => sandbox.close());
  // An empty answer is no answer here, before any rule is asked.
  const asked = pairs(4000).filter(([, answer]) => answer.trim() !== "");

  it("give the verdicts of a second implementation in Python on thousands of generated answers", async (t) => {
    const { stdout, stderr } = await sandbox.run({
      language: "python",
      code: second,
      stdin: JSON.stringify(asked),
      limits: { cpuMs: 120_000, wallMs: 600_000, outputCharacters: 10_000_000 },
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
      rights.every((count, i) => typeof theirs[0]![i] === "number" || count > 300),
      "both verdicts must occur",
    );
  });

  const authors = process.env["COA_TEST_SCORERS"];
  const gaiaFile = authors && join(authors, "gaia", "scorer.py");
  const skip = !gaiaFile
    ? "set COA_TEST_SCORERS to a folder with the authors' scorers"
    : !existsSync(gaiaFile) && `${gaiaFile} does not exist`;
  it("give the verdicts of the authors' own programs on the same answers", { skip }, () => {
    const program = `
import importlib.util, json, sys, os, contextlib, io
def load(path):
    spec = importlib.util.spec_from_file_location("scorer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
folder = sys.argv[1]
gaia = load(os.path.join(folder, "gaia", "scorer.py"))
squad_path = os.path.join(folder, "squad", "evaluate-v1.1.py")
squad = load(squad_path) if os.path.exists(squad_path) else None
rows = []
for gold, answer in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        row = [bool(gaia.question_scorer(answer, gold))]
        if squad: row += [bool(squad.exact_match_score(answer, gold)), float(squad.f1_score(answer, gold))]
    rows.append(row)
print(json.dumps(rows))`;
    const { stdout, stderr, status } = spawnSync("python3", ["-W", "ignore", "-c", program, authors!], {
      input: JSON.stringify(asked),
      encoding: "utf8",
      maxBuffer: 1e8,
    });
    assert.equal(status, 0, stderr);
    const different: string[] = [];
    for (const [at, row] of (JSON.parse(stdout) as (boolean | number)[][]).entries()) {
      const [gold, answer] = asked[at]!;
      const mine = ours(gold, answer);
      for (const [column, other] of row.entries()) {
        if (Math.abs(Number(mine[column]) - Number(other)) > 1e-12)
          different.push(
            `${columns[column]}: ${JSON.stringify(gold)} / ${JSON.stringify(answer)}: ${mine[column]}, ${other}`,
          );
      }
    }
    assert.deepEqual(different.slice(0, 20), []);
  });

  it("tell apart what GAIA's own items tell apart", () => {
    const gold = "(¬A → B) ↔ (A ∨ ¬B)";
    assert.equal(gradeGaia([gold], gold).correct, true);
    assert.equal(gradeGaia([gold], "¬(A ∧ B) ↔ (¬A ∨ ¬B)").correct, false);
    assert.equal(gradeGaia([gold], "(A → B) ↔ (¬A ∨ B)").correct, false);
    assert.equal(gradeGaia(["inf"], "no idea").correct, true, "the official rule reads what it can't read as infinity");
    assert.equal(gradeGaia(["inf"], "no idea", "strict").correct, false);
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
