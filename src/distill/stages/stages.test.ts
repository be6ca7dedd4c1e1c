import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { webProfile } from "../../language/profiles.ts";
import { contaminationStage } from "./contamination.ts";
import { duplicateIndex, signatureOf } from "./near-duplicates.ts";
import { completenessStage, complexityStage, correctnessStage, redundancyStage } from "./quality.ts";
import { correctsItself, lengthStage, reflectionStage, shareOf } from "./sampling.ts";
import { defineFilter, type Stage, type StageVerdict } from "./stage.ts";
import { gramsOf, wordsOf } from "./word-grams.ts";

const model = (tag: string, text: string): Segment => ({ tag, text, by: "model" });
const tool = (text: string, ok = true): Segment => ({
  tag: "observation",
  text,
  by: "tool",
  call: { tool: "web_search", input: {}, ok, ms: 1 },
});

function chain(segments: Segment[], more: Partial<Trajectory> = {}): Trajectory {
  return {
    version: 1,
    id: "t",
    taskId: "q",
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: "Who wrote the first program?" }],
    segments,
    answer: "Ada",
    ending: { reason: "answered" },
    usage: emptyUsage(),
    violations: [],
    ...more,
  };
}
const context = { profile: webProfile };

describe("complexityStage", () => {
  it("counts activations of roles and tools, not thoughts, observations or the answer", () => {
    const made = chain([
      model("think", "a"),
      model("plan", "b"),
      model("think", "c"),
      model("web_search", "d"),
      tool("e"),
      model("answer", "f"),
    ]);
    const measured = { measure: "interactions", value: 2 };
    assert.deepEqual(complexityStage(2).judge(made, context), { ...measured, threshold: 2 });
    assert.deepEqual(complexityStage(3).judge(made, context), {
      ...measured,
      threshold: 3,
      reason: "too few interactions",
      detail: "2, at least 3 are wanted",
    });
  });
});

const cutCall = { tool: "web_search", input: {}, ok: true, ms: 0, cutCharacters: 90 };

describe("completenessStage", () => {
  const reasonFor = (text: string) =>
    (completenessStage().judge(chain([tool(text)]), context) as { reason: string } | null)?.reason;
  it("sees the marks of cutting, JSON that does not end and cut characters", () => {
    for (const text of [
      "a page... [truncated]",
      "a page…(truncated, 300 more)",
      "1200 characters omitted",
      '{"a": [1, 2',
      '[{"a":1},',
      "caf\ufffd",
    ]) {
      assert.equal(reasonFor(text), "truncated observation", text);
    }
  });
  it("sees what the model says of a part that the profile cuts, and of no other", () => {
    const page = `It begins.${" ".repeat(40)}The height is 4,810 m.${" ".repeat(40)}It ends in Chamonix.`;
    const shown = { ...tool("It begins. [… 90 characters cut …] ends in Chamonix."), call: cutCall };
    const judged = (answer: string, segment: Segment = shown) => {
      const made = chain([model("web_search", "peak"), segment, model("answer", answer)]);
      const run = {
        question: "?",
        agents: [],
        steps: [{ toolCalls: [{ result: page }] }],
        completeness: { content: true },
      };
      return completenessStage().judge(made, { ...context, run: run as unknown as TeamRun });
    };
    assert.deepEqual(judged("4,810 m"), {
      reason: "truncated observation",
      detail: '"4,810" is only in what the profile cuts',
    });
    assert.equal(judged("Chamonix"), null);
    assert.equal(judged("4,810 m", tool(page)), null);
  });
  it("leaves whole texts alone, whatever they speak of", () => {
    for (const text of [
      "The truncated cone has two bases.",
      '{"a": 1}',
      "[1] first result",
      "Read more... about truncation",
      "{x} is a set",
      "naïve",
    ]) {
      assert.equal(reasonFor(text), undefined, text);
    }
  });
});

describe("correctnessStage", () => {
  const task = defineTask({ id: "q", question: "?", answers: ["Ada"] });
  const grade = (correct: boolean | null) => () => ({ correct, score: 0, reason: "because" });
  it("tells wrong from undecided and from ungradable", async () => {
    const judge = (correct: boolean | null, more = {}) =>
      correctnessStage(grade(correct)).judge(chain([], more), { ...context, task });
    const measured = { measure: "grade", value: 0, threshold: 1 };
    assert.deepEqual(await judge(true), { detail: "right by task file", ...measured });
    assert.deepEqual(await judge(false), { reason: "wrong answer", detail: "because", ...measured });
    assert.deepEqual(await judge(null), { reason: "grader undecided", detail: "because", ...measured });
    assert.deepEqual(await correctnessStage(undefined).judge(chain([]), context), {
      reason: "nothing to grade by",
      detail: "task q",
    });
    assert.deepEqual(await correctnessStage(undefined, "keep").judge(chain([]), context), {
      detail: "assumed right",
    });
  });
  it("takes the reward of a chain from RL where there is no task to grade by", async () => {
    assert.equal((await correctnessStage(undefined).judge(chain([], { reward: 1 }), context))?.reason, undefined);
    assert.equal((await correctnessStage(undefined).judge(chain([], { reward: 0 }), context))?.reason, "wrong answer");
  });
});

describe("redundancyStage", () => {
  const reasonFor = (segments: Segment[]) =>
    (redundancyStage().judge(chain(segments), context) as { reason: string } | null)?.reason;
  it("drops a repeated query, but not one that failed the first time", () => {
    const call = model("web_search", " Ada ");
    assert.equal(reasonFor([call, tool("x"), model("web_search", "Ada"), tool("x")]), "repeated tool input");
    assert.equal(reasonFor([call, tool("error", false), model("web_search", "Ada"), tool("x")]), undefined);
    const retried = (first: string, then: string) => reasonFor([call, tool(first), call, tool(then)]);
    assert.equal(retried("TimeoutError: no reply", "x"), undefined, "an error that the tool returned as text");
    assert.equal(retried("TimeoutError: no reply", "TimeoutError: no reply"), "repeated tool input");
    assert.equal(retried("Errors in old maps", "x"), "repeated tool input", "a page about errors did not fail");
  });
  it("drops long texts that stand before them, and lets short ones and new plans repeat", () => {
    const long =
      "the analytical engine weaves algebraic patterns just as the loom weaves flowers and leaves in many colours today";
    assert.equal(reasonFor([tool(long), model("think", `It says that ${long}`)]), "copied content");
    assert.equal(reasonFor([model("think", "read the page"), model("think", "read the page")]), undefined);
    assert.equal(reasonFor([model("plan", long), model("plan", long)]), undefined);
  });
});

describe("reflectionStage", () => {
  it("keeps the asked-for share, the same one each time", () => {
    const ids = Array.from({ length: 4000 }, (_, index) => `run-${index}`);
    const stage = reflectionStage(0.3);
    const keeps = (one: Stage, id: string) =>
      (one.judge(chain([], { id }), context) as StageVerdict | null)?.reason === undefined;
    const kept = ids.filter((id) => keeps(stage, id));
    assert.ok(Math.abs(kept.length / ids.length - 0.3) < 0.03, String(kept.length));
    assert.deepEqual(
      kept,
      ids.filter((id) => keeps(stage, id)),
    );
    const other = reflectionStage(0.3, 1);
    assert.notDeepEqual(
      kept,
      ids.filter((id) => keeps(other, id)),
    );
    assert.ok(ids.every((id) => shareOf(id, 0) >= 0 && shareOf(id, 0) < 1));
  });
  it("drops math and code chains without reflection", () => {
    const task = defineTask({ id: "q", question: "?", kind: "math" });
    assert.deepEqual(reflectionStage(1).judge(chain([]), { ...context, task }), {
      reason: "no reflection",
      detail: "a math task",
    });
    assert.equal(reflectionStage(0).judge(chain([model("reflection", "x")]), { ...context, task }), null);
  });
});

describe("sampling", () => {
  it("knows chains that correct themselves", () => {
    const check = (score: number) => model("double_check", ` The score this time is:${score}`);
    assert.equal(correctsItself(chain([check(2), check(4)])), true);
    assert.equal(correctsItself(chain([check(4)])), false);
    assert.equal(correctsItself(chain([check(1), check(2)])), false);
  });
  it("measures length by tokens", () => {
    const made = chain([], { usage: { ...emptyUsage(), computedTokens: 100 } });
    const measured = { measure: "tokens", value: 100 };
    assert.deepEqual(lengthStage(100).judge(made, context), { ...measured, threshold: 100 });
    const long = { reason: "too long", detail: "100 tokens, at most 99", ...measured, threshold: 99 };
    assert.deepEqual(lengthStage(99).judge(made, context), long);
  });
});

describe("contaminationStage", () => {
  const questions = [
    "In which year did Ada Lovelace publish her notes on the analytical engine?",
    "Capital of Mongolia?",
  ];
  const stage = contaminationStage({ questions, blockedUrls: ["https://huggingface.co/datasets/gaia"] });
  const reasonFor = (made: Trajectory) => (stage.judge(made, context) as { reason: string } | null)?.reason;
  const asking = (content: string) => chain([], { prompt: [{ role: "user", content }] });
  it("finds evaluation questions whatever their punctuation and case, also slightly longer or inside a page", () => {
    assert.equal(reasonFor(asking(questions[0]!.toUpperCase())), "evaluation question");
    assert.equal(reasonFor(asking(`Please tell me: ${questions[0]} Be brief.`)), "evaluation question");
    assert.equal(reasonFor(asking("capital of mongolia")), "evaluation question");
    assert.equal(reasonFor(chain([tool(`Quiz. ${questions[0]}`)])), "evaluation question in the chain");
  });
  it("leaves other questions of the same template alone", () => {
    assert.equal(
      reasonFor(asking("In which year did Grace Hopper publish her notes on the difference engine?")),
      undefined,
    );
    assert.equal(reasonFor(asking("Capital of Peru?")), undefined);
  });
  it("finds blocked addresses in calls and results", () => {
    assert.equal(
      reasonFor(chain([model("crawl_page", " http://www.huggingface.co/datasets/GAIA/raw")])),
      "blocked address",
    );
    assert.equal(reasonFor(chain([model("crawl_page", " https://huggingface.co/docs")])), undefined);
  });
});

describe("near-duplicates", () => {
  const words = Array.from({ length: 400 }, (_, index) => `word${(index * 7919) % 400}`);
  const text = (from: number, count: number) => words.slice(from, from + count).join(" ");
  it("estimates the share of common word sequences", () => {
    const overlap = (a: string, b: string) => {
      const [one, other] = [a, b].map(
        (content) => new Set(gramsOf(wordsOf(`Who wrote the first program ${content}`), 3)),
      );
      const common = [...one!].filter((gram) => other!.has(gram)).length;
      return common / (one!.size + other!.size - common);
    };
    const estimate = (a: string, b: string) => {
      const [one, other] = [a, b].map((content) => signatureOf(chain([model("think", content)])));
      return one!.filter((value, place) => value === other![place]).length / one!.length;
    };
    for (const shift of [0, 10, 40, 100, 200]) {
      const [a, b] = [text(0, 200), text(shift, 200)];
      assert.ok(
        Math.abs(estimate(a, b) - overlap(a, b)) < 0.15,
        `${shift}: ${estimate(a, b)} against ${overlap(a, b)}`,
      );
    }
  });
  it("finds copies among thousands and nothing else", () => {
    const index = duplicateIndex(0.95);
    const made = Array.from({ length: 3000 }, (_, place) =>
      signatureOf(
        chain([model("think", `${text(place % 150, 60)} number ${place} of ${place * 13}`)], {
          prompt: [{ role: "user", content: `q ${place * 7}` }],
        }),
      ),
    );
    const early = made.filter((signature, place) => index.findOrAdd(signature, place) !== undefined).length;
    assert.ok(early < 10, `${early} of 3000 different chains were taken for copies`);
    assert.ok(made.every((signature) => index.findOrAdd(signature, 9999) !== undefined));
  });
});

describe("defineFilter", () => {
  it("accepts a reason as plain text", async () => {
    const filter = defineFilter({ name: "short", judge: ({ answer }) => (answer === "Ada" ? "too short" : null) });
    assert.deepEqual(await filter.judge(chain([]), context), { reason: "too short" });
  });
});
