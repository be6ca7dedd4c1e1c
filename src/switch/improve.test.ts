import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { madeCascade, madeChain, madeTasks } from "../../test/fixtures/made-switch.ts";
import type { TeamRun } from "../core/team-run.ts";
import { emptyUsage } from "../core/usage.ts";
import { decideRound } from "./decide-round.ts";
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
  const audited = chains.map(({ id }, at) => ({ id, cascade: "x", at: "", kind: "k", differs: at % 10 === 1, question: tasks[at]!.question, ...(at % 4 !== 0 && { old: `old ${at}` }) })).filter((_, at) => at % 2 === 1 || at % 8 === 0); // biome-ignore format: one line
  const runs = tasks.map((task, at) => run(task.question, at === 4 ? null : `old ${at}`, at === 12 ? { feedback: [{ name: "stars", score: 0 }] } : {})); // biome-ignore format: one line
  const production = { kept, audited, runs, annotations: [] };

  it("is learned from where the old system had to answer, or the model said something else", () => {
    const left = gatherLeftovers(production);
    assert.deepEqual([left.counts.served, left.counts.escalated, left.counts.refused], [400, 100, 2]);
    const learned = new Set(left.tasks.map(({ id }) => id));
    assert.ok(left.tasks.every(({ rightness }) => rightness === "assumed"));
    assert.equal(left.runs.length, left.tasks.length);
    assert.ok(left.runs.every(({ taskId }) => learned.has(taskId!)));
    assert.ok(left.fresh.every(({ id }) => !learned.has(id)), "a task is in training or in the next calibration"); // biome-ignore format: one line
    assert.deepEqual(
      left.chains.map(({ id }) => id),
      left.fresh.map(({ id }) => id),
    );
    // Fresh tasks are chosen by their words alone: all ways of answering are among them, escalated ones too.
    const isFresh = (is: (at: number) => boolean) => left.fresh.some(({ id }) => is(chains.findIndex((chain) => chain.id === id))); // biome-ignore format: one line
    assert.ok(isFresh((at) => at % 10 === 1) && isFresh((at) => at % 8 === 0) && isFresh((at) => at % 10 === 3));
    assert.ok(left.fresh.length > 90 && left.fresh.length < 160, `${left.fresh.length}`);
    const agreed = new Set(audited.filter(({ differs, old }) => !differs && old !== undefined).map(({ id }) => id));
    assert.ok(left.guard.length > 20 && left.guard.every(({ id }) => agreed.has(id) && !learned.has(id)));
  });

  it("has a question in training or in the calibration, however often it is asked", () => {
    const again = kept.map((chain) => ({ ...chain, id: `${chain.id}-again` }));
    const twice = { ...production, kept: [...kept, ...again], audited: [...audited, ...audited.map((one) => ({ ...one, id: `${one.id}-again` }))] }; // biome-ignore format: one line
    const { tasks: learned, fresh } = gatherLeftovers(twice);
    const words = new Set(fresh.map(({ question }) => question));
    assert.ok(learned.filter(({ id }) => audited.some((one) => one.id === id)).every(({ question }) => !words.has(question))); // biome-ignore format: one line
  });

  it("heeds what users say: corrections grade, dislikes of the old answer are refused, dislikes of the model's are learned from", () => {
    const about = (at: number, feedback: object) => ({ version: 1 as const, target: { kind: "chain" as const, id: chains[at]!.id, hash: "" }, at: "", verdict: "note" as const, feedback }); // biome-ignore format: one line
    const annotations = [about(20, { score: 0 }), about(28, { correction: "right" }), about(2, { score: 0 }), about(6, { score: 1 })]; // biome-ignore format: one line
    const left = gatherLeftovers({ ...production, audited: [], annotations });
    const task = (at: number) => left.tasks.find(({ id }) => id === chains[at]!.id);
    assert.equal(task(20), undefined);
    assert.deepEqual([task(28)?.answers, task(28)?.rightness], [["right"], undefined]);
    assert.deepEqual(task(2)?.answers, ["old 2"]);
    assert.deepEqual(left.guard.map(({ id }) => id), [chains[6]!.id]); // biome-ignore format: one line
    assert.equal(left.counts.disliked, 3);
  });

  it("takes chains of the live version alone as fresh traffic and as guard, and learns from all", () => {
    const of = (version: string) => ({ ...production, version, kept: kept.map((chain) => ({ ...chain, served: { ...chain.served, version: "first" } })) }); // biome-ignore format: one line
    const [own, other] = [gatherLeftovers(of("first")), gatherLeftovers(of("second"))];
    assert.ok(own.fresh.length > 0 && own.guard.length > 0);
    assert.deepEqual([other.fresh, other.chains, other.guard], [[], [], []]);
    assert.deepEqual(other.tasks, own.tasks);
  });

  it("is not learned from twice, and not without a recorded run", () => {
    const first = gatherLeftovers(production);
    const seen = new Set([...first.tasks, ...first.fresh].map(({ id }) => id));
    assert.equal(gatherLeftovers(production, seen).tasks.length, 0);
    const bare = gatherLeftovers({ ...production, audited: [], runs: runs.slice(0, 10) });
    assert.deepEqual([bare.tasks.length, bare.counts.unrecorded, bare.counts.refused], [2, 97, 1]);
  });

  it("takes the run that gave the answer, where a question was asked before with another", () => {
    const before = tasks.map((task) => run(task.question, "what was true then"));
    const { tasks: learned } = gatherLeftovers({
      ...production,
      audited: [],
      runs: [...runs.filter(({ answer }) => answer !== null), ...before.filter((_, at) => at !== 4)],
    });
    assert.ok(learned.length > 90 && learned.every(({ answers }) => /^old /.test(answers[0]!)));
  });
});

describe("the decision of a round", () => {
  const exam = (wrong: (at: number) => boolean) => Array.from({ length: 500 }, (_, at) => !wrong(at));
  const cascade = madeCascade();
  const costing = (billedTokens: number) => ({
    cascade: { ...cascade, figures: { ...cascade.figures, cost: { ...cascade.figures.cost, team: { ...cascade.figures.cost.team, billedTokens: 1000 }, cascade: { ...cascade.figures.cost.cascade, billedTokens } } } }, // biome-ignore format: one cascade
  });
  const live = exam((at) => at % 50 === 0);

  it("promotes a model that is as good and cheaper, and says how sure the exam is", () => {
    const decision = decideRound({ exam: { live, candidate: exam((at) => at % 50 === 1) }, margin: 0.05, level: 1, live: costing(900), candidate: costing(500) }); // biome-ignore format: one round
    assert.equal(decision.promote, true, decision.reasons.join());
    assert.ok(decision.exam.power > 0.5, `${decision.exam.power}`);
  });

  it("does not promote what is worse on the exam, dearer, or without a cascade: a poisoned round", () => {
    const poisoned = decideRound({ exam: { live, candidate: exam((at) => at % 5 === 0) }, margin: 0.05, level: 1, live: costing(900), candidate: costing(100) }); // biome-ignore format: one round
    assert.equal(poisoned.promote, false);
    assert.match(poisoned.reasons[0]!, /on the exam it may be worse: 18\.0 points lost/);
    const dear = decideRound({
      exam: { live, candidate: live },
      margin: 0.05,
      level: 1,
      live: costing(500),
      candidate: costing(500),
    });
    assert.match(dear.reasons.join(), /not cheaper under the same promise/);
    const without = decideRound({ exam: { live, candidate: live }, margin: 0.05, level: 1, live: costing(500), candidate: { refused: "too few", moreTasks: 10, auc: null } }); // biome-ignore format: one round
    assert.match(without.reasons.join(), /can't keep the promise: too few/);
  });

  it("does not promote what saves nothing against the old system alone, whichever of two thresholds chance made lower", () => {
    const decision = decideRound({ exam: { live, candidate: live }, margin: 0.05, level: 1, live: costing(1090), candidate: costing(1080) }); // biome-ignore format: one round
    assert.match(decision.reasons.join(), /it saves nothing: 1080 tokens a question under the promise, the old system alone 1000/); // biome-ignore format: one line
  });

  it("asks for more certainty in each round, because the exam is the same", () => {
    const how = { exam: { live, candidate: exam((at) => at % 50 === 1) }, margin: 0.05, live: costing(900), candidate: costing(500) }; // biome-ignore format: one round
    const [first, fourth] = [decideRound({ ...how, level: 1 }), decideRound({ ...how, level: 1 / 20 })];
    assert.ok(fourth.exam.loss.high > first.exam.loss.high && fourth.exam.power <= first.exam.power);
  });

  it("is not fooled by a small exam", () => {
    const few = { live: live.slice(0, 40), candidate: live.slice(0, 40) };
    const decision = decideRound({ exam: few, margin: 0.02, level: 1, live: costing(900), candidate: costing(500) });
    assert.equal(decision.promote, false);
    assert.ok(decision.exam.power < 0.2);
  });
});
