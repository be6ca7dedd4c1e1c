import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { madeCascade, madeChain, madeTasks } from "../../test/fixtures/made-switch.ts";
import type { TeamRun } from "../core/team-run.ts";
import { emptyUsage } from "../core/usage.ts";
import { decideRound, roundHtml } from "./decide-round.ts";
import { gatherLeftovers } from "./leftovers.ts";

const tasks = madeTasks(400);
const run = (question: string, answer: string | null, more: Partial<TeamRun> = {}): TeamRun => ({
  version: 1,
  id: `run of ${question}`,
  question,
  topology: "agents-as-tools",
  agents: [],
  steps: [],
  messages: {},
  answer,
  ending: { reason: "answered" },
  usage: emptyUsage(),
  source: "proxy",
  completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
  ...more,
});

describe("what production left", () => {
  const chains = tasks.map((task) => madeChain(task, { wrong: 0.3, apart: 1 }));
  const kept = chains.map((chain, at) =>
    at % 4 === 0 ? { ...chain, served: { fallback: { model: "old", reason: "unsure", answer: `old ${at}` } } } : chain,
  );
  const audited = chains.map(({ id }, at) => ({ id, cascade: "x", at: "", kind: "k", differs: at % 10 === 1, question: tasks[at]!.question, old: `old ${at}` })).filter((_, at) => at % 2 === 1); // biome-ignore format: one line
  const runs = tasks.map((task, at) => run(task.question, at === 8 ? null : `old ${at}`, at === 12 ? { feedback: [{ name: "stars", score: 0 }] } : {})); // biome-ignore format: one line

  it("is learned from where the old system had to answer, or the model said something else", () => {
    const left = gatherLeftovers(kept, audited, runs);
    assert.equal(left.counts.escalated, 100);
    assert.equal(left.counts.refused, 2);
    const learned = new Set(left.tasks.map(({ id }) => id));
    assert.ok(left.tasks.every(({ rightness }) => rightness === "assumed"));
    assert.equal(left.runs.length, left.tasks.length);
    assert.ok(left.runs.every(({ taskId }) => learned.has(taskId!)));
    assert.ok(
      left.fresh.every(({ id }) => !learned.has(id)),
      "a task is in training or in the next calibration",
    );
    assert.ok(left.fresh.length > 60 && left.fresh.length < 140, `${left.fresh.length}`);
    // Fresh tasks are chosen by their ids alone: what differs is among them as often as among all audited ones.
    const differing = new Set(audited.filter(({ differs }) => differs).map(({ id }) => id));
    assert.ok(left.fresh.some(({ id }) => differing.has(id)) && left.fresh.some(({ id }) => !differing.has(id)));
  });

  it("is not learned from twice, and not without a recorded run", () => {
    const first = gatherLeftovers(kept, audited, runs);
    const seen = new Set([...first.tasks, ...first.fresh].map(({ id }) => id));
    const second = gatherLeftovers(kept, audited, runs, seen);
    assert.equal(second.tasks.length, 0);
    const bare = gatherLeftovers(kept, [], runs.slice(0, 10));
    assert.deepEqual([bare.tasks.length, bare.counts.unrecorded], [2, 97]);
  });
});

describe("the decision of a round", () => {
  const exam = (wrong: (at: number) => boolean) => Array.from({ length: 500 }, (_, at) => !wrong(at));
  const cascade = madeCascade();
  const costing = (billedTokens: number) => ({
    cascade: { ...cascade, figures: { ...cascade.figures, cost: { ...cascade.figures.cost, cascade: { ...cascade.figures.cost.cascade, billedTokens } } } }, // biome-ignore format: one cascade
  });
  const live = exam((at) => at % 50 === 0);

  it("promotes a model that is as good and cheaper, and says how sure the exam is", () => {
    const decision = decideRound({ exam: { live, candidate: exam((at) => at % 50 === 1) }, margin: 0.05, live: costing(900), candidate: costing(500) }); // biome-ignore format: one round
    assert.equal(decision.promote, true, decision.reasons.join());
    assert.ok(decision.exam.power > 0.5, `${decision.exam.power}`);
    const page = roundHtml({ number: 1, basis: "agreement", counts: { escalated: 3 }, learned: 2, seconds: 60 }, decision, { live: costing(900), candidate: costing(500) }); // biome-ignore format: one page
    assert.match(page, /Promoted.*saves 400 tokens a question/s);
  });

  it("does not promote what is worse on the exam, dearer, or without a cascade: a poisoned round", () => {
    const poisoned = decideRound({ exam: { live, candidate: exam((at) => at % 5 === 0) }, margin: 0.05, live: costing(900), candidate: costing(100) }); // biome-ignore format: one round
    assert.equal(poisoned.promote, false);
    assert.match(poisoned.reasons[0]!, /on the exam it may be worse: 18\.0 points lost/);
    const dear = decideRound({
      exam: { live, candidate: live },
      margin: 0.05,
      live: costing(500),
      candidate: costing(500),
    });
    assert.match(dear.reasons.join(), /not cheaper under the same promise/);
    const without = decideRound({ exam: { live, candidate: live }, margin: 0.05, live: costing(500), candidate: { refused: "too few", moreTasks: 10, auc: null } }); // biome-ignore format: one round
    assert.match(without.reasons.join(), /can't keep the promise: too few/);
  });

  it("is not fooled by a small exam", () => {
    const few = { live: live.slice(0, 40), candidate: live.slice(0, 40) };
    const decision = decideRound({ exam: few, margin: 0.02, live: costing(900), candidate: costing(500) });
    assert.equal(decision.promote, false);
    assert.ok(decision.exam.power < 0.2);
  });
});
