import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { System } from "../core/system.ts";
import { defineTask, type Task } from "../core/task.ts";
import { teamRunSchema } from "../core/team-run.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { emptyUsage } from "../core/usage.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { comparisonTable } from "../report/comparison-table.ts";
import { compareEvaluations, comparisonReport } from "./compare-evaluations.ts";
import { defineSystem } from "./define-system.ts";
import { readEvaluation } from "./read-evaluation.ts";
import { runEvaluation } from "./run-evaluation.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-compare-"));
after(() => rm(folder, { recursive: true, force: true }));

const hostile = `<script>alert(1)</script>&"'`;
const tasks: Task[] = Array.from({ length: 40 }, (_, i) =>
  defineTask({
    id: `t${i}`,
    question: `${hostile} ${i}?`,
    answers: [String(i)],
    family: i % 2 ? "odd" : "even",
    level: (i % 3) + 1,
  }),
);
const number = (task: Task) => Number(task.id.slice(1));

/** A team that is right on 20 of 40 and spends 1000 tokens, as a team run; a chain right on 30, for 200, as trajectories. */
const team = defineSystem({
  name: "team",
  topology: "agents-as-tools",
  run: async (task) =>
    teamRunSchema.parse({
      version: 1,
      id: `${task.id}#0`,
      question: task.question,
      topology: "agents-as-tools",
      agents: [
        { id: "a", name: "manager", role: "manager" },
        { id: "b", name: "searcher", role: "search" },
      ],
      steps: [
        {
          id: "1",
          agentId: "a",
          input: [],
          text: hostile,
          toolCalls: [{ id: "c", name: "ask_search", arguments: "{}", delegatesTo: "b" }],
          promptTokens: 300,
          completionTokens: 100,
        },
        {
          id: "2",
          agentId: "b",
          input: [],
          text: "looking",
          toolCalls: [{ id: "d", name: "web_search", arguments: "{}", result: hostile }],
          promptTokens: 500,
          completionTokens: 100,
        },
      ],
      messages: {},
      answer: number(task) < 20 ? String(number(task)) : "no idea",
      ending: { reason: "answered" },
      usage: { ...emptyUsage(), billedTokens: 1000, computedTokens: 600, toolCalls: 1, costUsd: 0.02 },
      source: "team",
      completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
    }),
});
const chain = defineSystem({
  name: "chain",
  topology: "single",
  run: async (task) =>
    trajectorySchema.parse({
      version: 1,
      id: `${task.id}#0`,
      taskId: task.id,
      profile: "web",
      model: "m",
      prompt: [],
      segments: [
        { tag: "think", text: "abc", by: "model" },
        { tag: "observation", text: hostile, by: "tool", call: { tool: "web_search", input: "q", ok: true, ms: 1 } },
      ],
      answer: number(task) < 30 ? String(number(task)) : hostile,
      ending: { reason: "answered" },
      usage: { ...emptyUsage(), billedTokens: 200, computedTokens: 150, toolCalls: 1, costUsd: 0.001 },
    }),
});

async function evaluate(system: System, name: string, of = tasks) {
  await runEvaluation(of, system, { folder: join(folder, name), grader: taskGrader() });
  return readEvaluation(join(folder, name));
}

describe("compareEvaluations", () => {
  it("gives success, costs per success and savings that can be checked by hand", async () => {
    const {
      rows,
      baseline,
      tasks: shared,
    } = compareEvaluations([await evaluate(team, "team"), await evaluate(chain, "chain")]);
    assert.deepEqual(baseline, { system: "team", topology: "agents-as-tools" });
    assert.equal(shared, 40);
    assert.equal(rows[0]!.summary.success.value, 0.5);
    assert.equal(rows[0]!.summary.perSuccess?.billedTokens, (40 * 1000) / 20);
    assert.equal(rows[1]!.summary.perSuccess?.billedTokens, (40 * 200) / 30);
    const saving = rows[1]!.saving!.billedTokens!;
    assert.ok(Math.abs(saving.value - (1 - (40 * 200) / 30 / 2000)) < 1e-12);
    assert.ok(saving.low <= saving.value && saving.value <= saving.high);
    // Ten tasks won, none lost: two-sided p = 2 / 2^10.
    assert.ok(Math.abs(rows[1]!.paired!.pValue - 2 / 1024) < 1e-12);
    assert.deepEqual(rows[0]!.summary.tokensByRole, { manager: 40 * 400, search: 40 * 600 });
    assert.deepEqual(rows[0]!.summary.toolCalls, { web_search: 40 });
    // The team's two turns wait for each other, the chain has one; its call took a millisecond.
    assert.equal(rows[0]!.summary.perSuccess?.rounds, (40 * 2) / 20);
    assert.equal(rows[1]!.summary.perSuccess?.rounds, 40 / 30);
    assert.equal(rows[1]!.summary.perTask.pathMs, 1);
    assert.ok(Math.abs(rows[1]!.saving!.rounds!.value - (1 - 40 / 30 / 4)) < 1e-12);
  });

  it("compares only the tasks in common and refuses when there are none", async () => {
    const part = await evaluate(chain, "part", tasks.slice(0, 10));
    const { rows, tasks: shared } = compareEvaluations([await readEvaluation(join(folder, "team")), part]);
    assert.equal(shared, 10);
    assert.equal(rows[0]!.summary.tasks, 10);
    assert.equal(rows[0]!.summary.success.value, 1); // half of all forty, all of the first ten
    const other = await evaluate(
      chain,
      "other",
      [defineTask({ id: "x", question: "q", answers: ["1"] })].map((task) => ({ ...task, id: "t99" })),
    );
    assert.throws(() => compareEvaluations([part, other]), /no task in common/);
  });

  it("names the topology in the table and says what the columns mean", async () => {
    const table = comparisonTable(
      compareEvaluations([await readEvaluation(join(folder, "team")), await readEvaluation(join(folder, "chain"))]),
    );
    assert.match(table, /saves vs team \(agents-as-tools\)/);
    assert.match(table, /chain +75\.0 % \[/);
    assert.match(table, /tools +format errors +rounds +path +time/);
    assert.match(table, /Rounds are model turns that had to wait for each other/);
    assert.match(table, /87 % billed, 83 % computed/);
    assert.match(table, /failures included/);
  });

  it("says that money is not known instead of $0 where no price was given", async () => {
    const evaluations = [await readEvaluation(join(folder, "team")), await readEvaluation(join(folder, "chain"))];
    const priced = compareEvaluations(evaluations);
    assert.doesNotMatch(comparisonTable(priced), /not known/);
    const rows = priced.rows.map(({ summary, ...row }) => {
      const { perTask, perSuccess } = summary;
      return {
        ...row,
        summary: {
          ...summary,
          perTask: { ...perTask, costUsd: 0 },
          perSuccess: perSuccess && { ...perSuccess, costUsd: 0 },
        },
      };
    });
    const table = comparisonTable({ ...priced, rows });
    assert.doesNotMatch(table, /\$0/);
    assert.match(table, /Money is not known .*--price/);
  });

  it("writes one page that loads nothing, runs nothing, and shows what each system answered where they differ", async () => {
    const evaluations = [await readEvaluation(join(folder, "team")), await readEvaluation(join(folder, "chain"))];
    const page = comparisonReport(evaluations, compareEvaluations(evaluations), { title: hostile, examples: 3 });
    assert.ok(!/<script|<link|<img|@import|url\(|https?:\/\/(?!www\.w3\.org)/i.test(page));
    assert.equal(page.split("<section").length - 1, 3);
    assert.equal(page.split('<li class="right">').length - 1, 3);
    assert.equal(page.split('<li class="wrong">').length - 1, 3);
    assert.ok(page.includes("prefers-color-scheme:dark"));
    for (const word of ["odd", "even", "manager", "search", "think"]) assert.ok(page.includes(word), word);
    assert.ok(!/NaN|Infinity|undefined/.test(page));
  });
});
