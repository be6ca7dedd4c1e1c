/** What the studio answers to the questions of its screens, over a small workspace with two evaluated systems. */
import assert from "node:assert/strict";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { chainHash } from "../../core/annotation.ts";
import { defineTask } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { emptyUsage } from "../../core/usage.ts";
import { defineSystem } from "../../evaluate/define-system.ts";
import { runEvaluation } from "../../evaluate/run-evaluation.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import type { BesideView } from "./beside-reader.ts";
import { readBeside } from "./beside-reader.ts";
import { readCompare } from "./compare-reader.ts";
import { readMatrix, readResult } from "./evaluation-readers.ts";
import { readReview } from "./review-reader.ts";
import { runView } from "./run-view.ts";
import { openStudioContext } from "./serve-studio.ts";

const home = await mkdtemp(join(tmpdir(), "coa-answers-"));
const tasks = Array.from({ length: 6 }, (_, i) =>
  defineTask({ id: `t${i}`, question: `Question ${i}?`, answers: ["yes"] }),
);
let context: Awaited<ReturnType<typeof openStudioContext>>;
const query = (text: string) => new URLSearchParams(text);

/** A chain for every task; right where the number of the task is in the list. Both systems give their chains the same ids. */
const chains = (name: string, learned: string, right: number[]) =>
  defineSystem({
    name,
    identity: { learned },
    run: async (task) =>
      trajectorySchema.parse({
        version: 1,
        id: `${task.id}#0`,
        taskId: task.id,
        profile: "web",
        model: name,
        prompt: [{ role: "user", content: task.question }],
        segments: [{ tag: "answer", text: name, by: "model" }],
        answer: right.includes(Number(task.id.slice(1))) ? "yes" : "no",
        ending: { reason: "answered" },
        usage: { ...emptyUsage(), billedTokens: 100, wallMs: 5 },
      }),
  });

before(async () => {
  for (const system of [chains("a-sft", "sft", [0, 1, 2]), chains("b-rl", "rl", [0, 3, 4, 5])])
    await runEvaluation(tasks, system, { folder: join(home, "evals", system.name), grader: taskGrader() });
  context = await openStudioContext({ paths: [home], home });
  while (!context.catalog.isReady) await new Promise((resolve) => setImmediate(resolve));
});
after(async () => {
  await context.close();
  await rm(home, { recursive: true, force: true });
});

describe("the studio's lists and screens", () => {
  it("list the evaluated chains that were wrong", () => {
    const { total } = context.items.page(
      { kind: "chain", values: { reward: ["0"] } },
      { by: "order", down: false },
      0,
      50,
    );
    assert.equal(total, 5);
  });

  it("keep to the file of a chain and to the list it was opened from", () => {
    const file = "evals/b-rl/runs.jsonl";
    const list = encodeURIComponent("reward=0&file=evals/b-rl/runs.jsonl");
    const view = readBeside(query(`chain=t1%230&in=${file}&list=${list}`), context) as BesideView;
    assert.equal(view.chain?.model, "b-rl");
    assert.equal(view.before, undefined);
    assert.deepEqual(view.after, { key: "t2#0", file });
    const end = readBeside(query(`chain=t2%230&in=${file}&list=${list}`), context) as BesideView;
    assert.equal(end.after, undefined, "the right chains after it are not in the list");
  });

  it("compare every system on a task by its evaluation's name, with verdict and right answer", async () => {
    const { systems, gold } = await readCompare(query("task=t1"), context);
    assert.deepEqual(gold, ["yes"]);
    assert.deepEqual(systems.map(({ title, reward }) => [title, reward]).sort(), [
      ["a-sft", 1],
      ["b-rl", 0],
    ]);
  });

  it("say what a success cost, and the result in a sentence", async () => {
    const { systems } = await readMatrix(query(""), context);
    assert.equal(systems.find(({ system }) => system === "a-sft")?.perSuccess?.billedTokens, 200);
    const { sentence } = await readResult(query(""), context);
    assert.match(sentence ?? "", /^One model answers 4 of 6 questions.*; RL made no difference that 6 questions show/);
    // The order is that in which they were begun, however their files were copied.
    await utimes(join(home, "evals", "a-sft", "journal.jsonl"), new Date(), new Date(Date.now() + 60_000));
    assert.equal((await readResult(query(""), context)).sentence, sentence);
  });

  it("do not ask people to decide about chains of a test set", async () => {
    assert.equal((await readReview(query(""), context)).total, 0);
    assert.equal((await readReview(query("task=t1&only=all"), context)).total, 2);
  });
});

describe("the queue of review", () => {
  it("asks about a chain once, however many files hold it, and has what users said", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-queue-"));
    const chain = trajectorySchema.parse({
      version: 1,
      id: "c1",
      taskId: "t",
      profile: "web",
      model: "m",
      prompt: [{ role: "user", content: "q?" }],
      segments: [{ tag: "answer", text: "a", by: "model" }],
      answer: "a",
      ending: { reason: "answered" },
      usage: emptyUsage(),
    });
    const other = { ...chain, model: "another", answer: "b" };
    for (const name of ["a", "b", "c"]) await writeFile(join(folder, `${name}.jsonl`), `${JSON.stringify(chain)}\n`);
    await writeFile(join(folder, "d.jsonl"), `${JSON.stringify({ ...other, id: "c2" })}\n`);
    const opened = await openStudioContext({ paths: [folder], home: folder });
    try {
      while (!opened.catalog.isReady) await new Promise((resolve) => setImmediate(resolve));
      const before = await readReview(query(""), opened);
      assert.deepEqual([before.total, before.counts.open], [2, 2]);
      const about = {
        version: 1 as const,
        at: "2026-01-01",
        target: { kind: "chain" as const, id: "c1", hash: chainHash(chain) },
      };
      await opened.annotations.append({ ...about, verdict: "drop", feedback: { score: 0 } });
      await opened.annotations.append({
        ...about,
        target: { ...about.target, id: "c2" },
        verdict: "note",
        feedback: { comment: "well" },
      });
      const { counts, after, shown } = await readReview(query("only=all&at=c1&in=b.jsonl"), opened);
      assert.deepEqual(counts, { open: 1, keep: 0, drop: 1, edit: 0, said: 2 });
      assert.deepEqual([shown!.key, shown!.said, after], ["c1", [{ score: 0 }], { at: "c2", in: "d.jsonl" }]);
      const said = await readReview(query("only=said&at=c1"), opened);
      assert.equal(said.after?.at, "c2", "words alone decide nothing, and are heard");
    } finally {
      await opened.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("runView", () => {
  const step = (id: string, input: string[]) => ({
    id,
    agentId: "m",
    input,
    text: "x",
    toolCalls: [],
    promptTokens: 40,
    completionTokens: 2,
  });
  const run = (steps: object[], messages: object) =>
    runView(
      teamRunSchema.parse({
        version: 1,
        id: "r",
        question: "q",
        topology: "handoff",
        agents: [{ id: "m", name: "manager" }],
        steps,
        messages,
        answer: "x",
        ending: { reason: "answered" },
        usage: emptyUsage(),
        source: "team",
        completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
      }),
    );

  it("gives every call with what it was given, and marks what was seen before", () => {
    const messages = { h1: { role: "system", content: "be brief" }, h2: { role: "user", content: "hello" } };
    const view = run([step("1", ["h1"]), step("2", ["h1", "h2"])], messages);
    assert.deepEqual(
      view.steps[1]!.given.map(({ at, seen }) => [view.messages[at]!.text.text, seen]),
      [
        ["be brief", true],
        ["hello", false],
      ],
    );
  });

  it("gives the settings of a call as they were sent", () => {
    const settings = { temperature: 0.2, responseFormat: { type: "json_object" } };
    const view = run([{ ...step("1", []), settings }], {});
    assert.deepEqual(view.steps[0]!.settings, ["temperature 0.2", 'responseFormat {"type":"json_object"}']);
  });

  it("says nothing was read again where prompts were not recorded", () => {
    const view = run([step("1", []), step("2", [])], {});
    assert.deepEqual(
      view.steps.map(({ tokens }) => [tokens.reread, tokens.retold, tokens.unknown]),
      [
        [0, 0, 40],
        [0, 0, 40],
      ],
    );
  });
});
