import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { defineTool } from "../core/tool.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { rewardHandler } from "./reward-handler.ts";
import { toolHandler } from "./tool-handler.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of a server
type Loose = any;
const asker =
  ({ fetch: handle }: { fetch(request: Request): Promise<Response> }) =>
  async (path: string, body?: unknown): Promise<{ status: number; body: Loose }> => {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await handle(new Request(`http://localhost${path}`, sent));
    return { status: response.status, body: await response.json() };
  };

describe("toolHandler", () => {
  const double = defineTool({
    name: "double",
    description: "Twice a number.",
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      if (n === 13) throw new Error("bad luck");
      return { result: n * 2 };
    },
  });
  const ask = asker(toolHandler({ tools: [double], maxCharacters: 14 }));

  it("runs a call, and tells a failed one from a wrong one", async () => {
    assert.deepEqual((await ask("/tools")).body.tools, [{ name: "double", description: "Twice a number." }]);
    const { ms, ...good } = (await ask("/tools/double", { input: { n: 4 } })).body;
    assert.ok(ms >= 0);
    assert.deepEqual(good, { ok: true, output: '{"result":8}', cutCharacters: 0 });
    assert.match((await ask("/tools/double", { input: { n: "x" } })).body.output, /^error: the inp/);
    assert.equal((await ask("/tools/double", { input: { n: 13 } })).body.ok, false);
    assert.equal((await ask("/tools/double", { input: { n: 123456 } })).body.cutCharacters, 3);
    const unknown = await ask("/tools/treble", { input: {} });
    assert.deepEqual([unknown.status, unknown.body.error.code], [404, "unknown_tool"]);
  });

  it("checks the input of a tool that has a JSON schema alone", async () => {
    const inputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const plain = { name: "plain", description: "", inputSchema, execute: () => assert.fail("wrong input is not run") };
    const { body } = await asker(toolHandler({ tools: [plain] }))("/tools/plain", { input: { n: "x" } });
    assert.deepEqual([body.ok, body.output], [false, "error: the input is wrong: n: expected number"]);
  });
});

describe("rewardHandler", () => {
  const ask = asker(rewardHandler({ grader: taskGrader() }));
  const task = { question: "Capital of France?", answers: ["Paris"] };

  it("rewards an answer, a chain's text, and nothing", async () => {
    assert.equal((await ask("/reward", { task, text: "Paris" })).body.reward, 1);
    const chain = "<think>x</think><answer>Lyon</answer>";
    const wrong = (await ask("/reward", { task, text: chain })).body;
    assert.deepEqual([wrong.reward, wrong.correct, wrong.format], [0, false, true]);
    assert.equal((await ask("/reward", { task, text: null })).body.reward, 0);
    assert.equal((await ask("/reward", { text: "x" })).status, 400);
    assert.equal((await ask("/reward", { task })).status, 400);
  });

  it("says null, never 0, where the grader could not decide", async () => {
    const undecided = asker(
      rewardHandler({ grader: () => ({ correct: null, score: 0, reason: "the judge is down" }) }),
    );
    assert.equal((await undecided("/reward", { task, text: "x" })).body.reward, null);
    assert.equal((await undecided("/reward/slime", { prompt: "?", response: "x", label: "y" })).body, null);
    assert.equal((await undecided("/reward/verl", { solution_str: "x", ground_truth: "y" })).body.score, null);
  });

  it("speaks the shapes of verl, TRL and slime", async () => {
    assert.equal(
      (await ask("/reward/verl", { solution_str: "<answer>Paris</answer>", ground_truth: "Paris" })).body.score,
      1,
    );
    const trl = { completions: ["Paris", [{ role: "assistant", content: "Lyon" }]], answers: ["Paris", "Paris"] };
    assert.deepEqual((await ask("/reward/trl", trl)).body, { rewards: [1, 0] });
    assert.equal((await ask("/reward/slime", { prompt: "?", response: "Paris", label: "Paris" })).body, 1);
    const items = [
      { task, text: "Paris" },
      { task, text: "Rome" },
    ];
    assert.deepEqual(
      (await ask("/reward/batch", { items })).body.results.map((one: Loose) => one.reward),
      [1, 0],
    );
  });

  it("reads gold as verl, Search-R1 and slime publish it", async () => {
    const shapes: unknown[] = [
      "Paris",
      ["Paris", "Paname"],
      { target: ["Paris"] },
      { answers: ["Paris", "Lutetia"] },
      [[["Paris"]], [["Lutetia"]]],
      { reward_model: { style: "rule", ground_truth: { target: ["Paris"] } } },
      '{"target": ["Paris"]}',
      JSON.stringify({ reward_model: { ground_truth: "Paris" } }),
      { gold: ["Paris"] },
      { target: "Paris" },
      { ground_truth: { target: ["Lutetia", "Paris"] }, style: "rule" },
      { answer: "Paris" },
      { label: { answers: ["Paris"] } },
    ];
    for (const gold of shapes) {
      const graded = [
        (await ask("/reward/verl", { solution_str: "<answer>Paris</answer>", ground_truth: gold })).body.score,
        (await ask("/reward/slime", { prompt: "?", response: "Paris", label: gold })).body,
        (await ask("/reward/trl", { completions: ["Paris"], ground_truth: [gold] })).body.rewards[0],
        (await ask("/reward/verl", { solution_str: "Rome", ground_truth: gold })).body.score,
      ];
      assert.deepEqual(graded, [1, 1, 1, 0], JSON.stringify(gold));
    }
    assert.equal((await ask("/reward/slime", { prompt: "?", response: "42", label: { ground_truth: 42 } })).body, 1);
  });

  it("says null for a label that is not known, and refuses a shape that it does not understand by name", async () => {
    for (const label of [null, [], { ground_truth: null }])
      assert.deepEqual(await ask("/reward/slime", { prompt: "?", response: "x", label }), { status: 200, body: null });
    for (const label of [{ tests: ["assert"] }, {}, [{ a: 1, b: 2 }], { answer: "x", target: "y" }]) {
      const { status, body } = await ask("/reward/slime", { prompt: "?", response: "x", label });
      assert.deepEqual([status, body.error.code, body.error.param], [400, "unknown_gold", "answers"]);
    }
    const { body } = await ask("/reward/verl", { solution_str: "x", ground_truth: { tests: [1] } });
    assert.match(body.error.message, /not an object with "tests"/);
  });
});
