import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { defineTask } from "../core/task.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { mhqaProfile, webProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import type { Limits } from "./limits.ts";
import { runChain } from "./run-chain.ts";

const task = defineTask({ id: "t", question: "question" });
const price = { input: 3, output: 15 };

function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 4294967296;
  };
}

/** Searches for ever, thinks at length now and then, and answers only when asked. */
const restless =
  (next: () => number, obedient: boolean) =>
  (request: { text: string }, call: number): string => {
    if (obedient && request.text.includes("budget is nearly used up")) return "<answer>late</answer>";
    return `<think>${"hm ".repeat(Math.floor(next() * 80))}.</think><wiki_search>q${call}</wiki_search>`;
  };

const anything = () =>
  tableTool(
    new Proxy({}, { get: (_, key) => `result of ${String(key)} ${"x".repeat(200)}` }) as Record<string, string>,
    "wiki_search",
  );

describe("limits", () => {
  it("stay in force where one is undefined, and refuse what is not a number", async () => {
    const run = (limits: Partial<Limits>) =>
      runChain(task, {
        model: scriptedModel(restless(random(1), false)),
        tools: [anything()],
        profile: mhqaProfile,
        limits,
      });
    const { usage } = await run({ maxSteps: undefined, maxToolCalls: undefined, maxCostUsd: undefined });
    assert.ok(usage.modelCalls <= 24, `${usage.modelCalls}`);
    for (const value of [Number.NaN, -1, "5" as never]) {
      await assert.rejects(run({ maxSteps: value }), /limits\.maxSteps is .*: it must be 0 or more/);
    }
    await assert.rejects(run({ maxCostUSD: 1 } as never), /has no option maxCostUSD: did you mean maxCostUsd\?/);
  });

  it("are never exceeded, whatever they are, in text and in tokens", async () => {
    const next = random(11);
    for (let round = 0; round < 150; round++) {
      const pick = (low: number, high: number) => Math.floor(low + next() * (high - low));
      const limits: Partial<Limits> = { maxTokensPerCall: pick(20, 200) };
      limits.answerReserve = next() < 0.5 ? 0 : pick(10, 60);
      const kind = round % 5;
      if (kind === 0) limits.maxSteps = pick(1, 8);
      if (kind === 1) limits.maxCompletionTokens = pick(1, 600);
      if (kind === 2) limits.maxTotalTokens = pick(1, 6000);
      if (kind === 3) limits.maxCostUsd = next() * 0.02;
      if (kind === 4) limits.maxToolCalls = pick(0, 5);
      limits.maxSteps ??= 12;
      const tokenizer = round % 2 ? byteTokenizer() : undefined;
      const obedient = next() < 0.5;
      const model = scriptedModel(restless(next, obedient), { tokenizer });
      const trajectory = await runChain(task, {
        model,
        tools: [anything()],
        profile: mhqaProfile,
        enforcement: "report",
        limits,
        prices: price,
        systemPrompt: false,
      });
      const { usage } = trajectory;
      const what = JSON.stringify({ limits, usage, ending: trajectory.ending, obedient });
      assert.ok(usage.modelCalls <= limits.maxSteps, what);
      assert.ok(usage.completionTokens <= (limits.maxCompletionTokens ?? Number.POSITIVE_INFINITY), what);
      assert.ok(usage.billedTokens <= (limits.maxTotalTokens ?? Number.POSITIVE_INFINITY), what);
      assert.ok(usage.costUsd <= (limits.maxCostUsd ?? Number.POSITIVE_INFINITY), what);
      assert.ok(usage.toolCalls <= (limits.maxToolCalls ?? Number.POSITIVE_INFINITY), what);
      assert.equal(model.requests.length, usage.modelCalls, "no call is sent that is not counted");
      for (const request of model.requests) assert.ok(request.maxTokens <= limits.maxTokensPerCall!, what);
      assert.ok(["limit", "answered", "suggested"].includes(trajectory.ending.reason), what);
    }
  });

  it("leave a reserve in which the model is asked for its answer, and the ending says so", async () => {
    const model = scriptedModel(restless(random(1), true));
    const trajectory = await runChain(task, {
      model,
      tools: [anything()],
      profile: mhqaProfile,
      limits: { maxSteps: 4 },
    });
    assert.deepEqual(trajectory.ending, { reason: "answered", detail: "asked at the limit: steps" });
    assert.equal(trajectory.answer, "late");
    assert.equal(trajectory.segments.findLast((segment) => segment.by === "runtime")?.tag, "observation");
  });

  it("fall back to the last suggested answer", async () => {
    const suggest =
      "<think>t</think><suggested_answer>maybe</suggested_answer><think>t</think><double_check>The score this time is:2</double_check><think>t</think><web_search>more</web_search>";
    const script = (_: unknown, call: number) => (call === 0 ? "<think>t</think><web_search>a</web_search>" : suggest);
    const trajectory = await runChain(task, {
      model: scriptedModel(script),
      tools: [tableTool({ a: "b", more: "c" })],
      profile: webProfile,
      limits: { maxSteps: 3, answerReserve: 0 },
    });
    assert.deepEqual(trajectory.ending, { reason: "suggested", detail: "steps" });
    assert.equal(trajectory.answer, "maybe");
  });

  it("end a call or a tool that takes too long, even if it ignores its signal", async () => {
    const never = () => new Promise<never>(() => {});
    const slowModel = await runChain(task, {
      model: scriptedModel(never),
      tools: [anything()],
      profile: mhqaProfile,
      limits: { maxWallMs: 30 },
    });
    assert.deepEqual(slowModel.ending, { reason: "limit", detail: "wall-time" });
    const slowTool = { ...anything(), timeoutMs: 5, execute: never };
    const model = scriptedModel(["<think>t</think><wiki_search>a</wiki_search>", "<think>t</think><answer>b</answer>"]);
    const trajectory = await runChain(task, { model, tools: [slowTool], profile: mhqaProfile });
    assert.match(trajectory.segments[2]!.text, /^error: wiki_search gave no result after 5 ms/);
    assert.equal(trajectory.answer, "b");
  });
});

describe("long chains", () => {
  const tools = () => [
    tableTool(
      new Proxy({}, { get: (_, key) => `${String(key)}: ${"long result ".repeat(60)}` }) as Record<string, string>,
      "wiki_search",
    ),
  ];
  const script = (_: unknown, call: number) =>
    call < 12
      ? `<think>step ${call}</think><wiki_search>q${call}</wiki_search>`
      : "<think>t</think><answer>done</answer>";

  for (const mode of ["text", "tokens"] as const) {
    it(`compact old observations and keep the rest, in ${mode} mode`, async () => {
      const contextWindow = mode === "tokens" ? 5000 : 1400;
      const model = scriptedModel(script, {
        contextWindow,
        tokenizer: mode === "tokens" ? byteTokenizer() : undefined,
      });
      const trajectory = await runChain(task, {
        model,
        tools: tools(),
        profile: mhqaProfile,
        systemPrompt: false,
        limits: { maxTokensPerCall: 100, answerReserve: 0, maxSteps: 20 },
        compaction: { maxTokens: 40 },
      });
      assert.equal(trajectory.answer, "done", JSON.stringify(trajectory.ending));
      const size = (request: (typeof model.requests)[number]) =>
        request.tokens?.length ?? Math.ceil(request.text.length / 4);
      for (const request of model.requests) assert.ok(size(request) + 100 <= contextWindow + 1, `${size(request)}`);
      const last = model.requests.at(-1)!.text;
      for (let call = 0; call < 12; call++) assert.ok(last.includes(`<think>step ${call}</think>`), "thinks stay");
      // In bytes the note of what is cut would take most of 40 tokens.
      assert.ok(last.includes(mode === "tokens" ? "long ..." : "characters cut"), last);
      const shortForms = trajectory.compactions!.flatMap(({ replaced }) => replaced);
      if (mode === "tokens") for (const { text } of shortForms) assert.ok(text.length <= 40, text);
      assert.ok(last.includes(`q11: ${"long result ".repeat(60)}`), "the newest observation is whole");
      assert.ok(
        trajectoryText(trajectory.segments).includes(`q0: ${"long result ".repeat(60)}`),
        "the record keeps the original",
      );
      // Requests only ever extend the one before, or share its prefix up to the first shortened observation.
      let rewrites = 0;
      for (let index = 1; index < model.requests.length; index++) {
        if (!model.requests[index]!.text.startsWith(model.requests[index - 1]!.text)) rewrites++;
      }
      assert.ok(rewrites >= 1 && rewrites <= 4, `${rewrites} rewrites`);
      if (mode === "tokens")
        assert.equal(
          trajectory.usage.promptTokens,
          model.requests.reduce((sum, request) => sum + request.tokens!.length, 0),
        );
    });
  }

  it("shows what a function makes of old observations, with its tags made harmless", async () => {
    const model = scriptedModel(script, { contextWindow: 1400 });
    const trajectory = await runChain(task, {
      model,
      tools: tools(),
      profile: mhqaProfile,
      systemPrompt: false,
      limits: { maxTokensPerCall: 100, answerReserve: 0, maxSteps: 20 },
      compaction: { maxTokens: 40, summarise: () => "SHORT </observation>" },
    });
    assert.equal(trajectory.answer, "done");
    assert.ok(model.requests.at(-1)!.text.includes("[summary] SHORT ‹/observation›"));
  });
});
