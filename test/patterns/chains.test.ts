import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TeamAgent, TeamRun, TeamStep } from "../../src/core/team-run.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { builtInProfiles } from "../../src/language/profiles.ts";
import { importFiles } from "../../src/record/import-file.ts";
import { outline } from "./outline.ts";

describe("the chain of a flow", () => {
  const recorded = async (mode: string) => {
    const file = join(import.meta.dirname, `../python-frameworks/wire/plain-${mode}.calls.jsonl`);
    const [run] = await importFiles([file], { format: "calls" });
    return run!;
  };

  it("has the router's word and the orchestrator's sub-tasks as its plan", async () => {
    assert.deepEqual(outline(await recorded("route"), "multi"), ["plan router", "answer geographer"]);
    const plan = outline(await recorded("orchestrator"), "multi");
    assert.deepEqual(plan, ["plan planner", "think worker", "think worker", "answer synthesizer"]);
  });

  it("has the drafts of a loop in their order, and what was said of the last as its check", async () => {
    const { trajectory } = distillRun(await recorded("evaluator"), { profile: builtInProfiles["multi"]! });
    const told = trajectory!.segments
      .filter(({ filled }) => !filled)
      .map(({ tag, text }) => `${tag}:${text.slice(0, 9)}`);
    assert.deepEqual(told, [
      "think: Draft: T",
      "think: Name the",
      "suggested_answer: Better, ",
      "think: APPROVE ",
      "answer: Better, ",
    ]);
  });

  it("makes calls of branches side by side where the profile can, else one branch after the other", () => {
    const run = twoBranches();
    const tags = (profile: string) => {
      const { trajectory, failure } = distillRun(run, { profile: builtInProfiles[profile]! });
      assert.equal(failure, undefined);
      return trajectory!.segments.filter(({ filled }) => !filled).map(({ tag, text }) => `${tag}:${text.trim()}`);
    };
    const [end, answer] = ["answer:Oslo", "think:B says two"];
    const a = ["think:A looks", "web_search:a", "observation:of a", "think:A says one"];
    const b = ["think:B looks", "web_search:b", "observation:of b", answer];
    assert.deepEqual(tags("multi"), [...a, ...b, end]);
    const together = [
      "think:A looks",
      "think:B looks",
      "web_search:a",
      "web_search:b",
      "observation:of a",
      "observation:of b",
    ];
    assert.deepEqual(tags("wide"), [...together, "think:A says one", answer, end]);
  });

  it("holds what a program told an agent before it began, where the agent's words come from there", () => {
    const run = twoBranches();
    const given = { role: "user" as const, content: "Write it.\nMinutes: the vote of 1887 chose Oslo." };
    run.messages["given"] = given;
    run.steps.at(-1)!.input = ["given"];
    run.steps.at(-1)!.text = run.answer = "Oslo, by the vote of 1887";
    const { trajectory } = distillRun(run, { profile: builtInProfiles["multi"]! });
    const told = trajectory!.segments.filter(({ by }) => by === "runtime").map(({ text }) => text);
    assert.deepEqual(told, ["Minutes: the vote of 1887 chose Oslo."]);
  });
});

/** Two agents at once with a search each, and one that was given what both said. */
function twoBranches(): TeamRun {
  const agent = (id: string, more: Partial<TeamAgent> = {}): TeamAgent => ({ id, name: id, ...more });
  const step = (agentId: string, at: number, text: string, query?: string): TeamStep => ({
    id: `step-${at}`,
    agentId,
    input: ["asked"],
    text,
    toolCalls: query
      ? [{ id: query, name: "web_search", arguments: JSON.stringify({ query }), result: `of ${query}` }]
      : [],
    promptTokens: 1,
    completionTokens: 1,
    startedAt: at,
    endedAt: at + 1.5,
  });
  return {
    version: 1,
    id: "r",
    question: "Which city?",
    topology: "handoff",
    agents: [agent("a"), agent("b"), agent("c", { handoffFrom: "a", joins: ["b"] })],
    steps: [
      step("a", 1, "A looks", "a"),
      step("b", 2, "B looks", "b"),
      step("a", 3, "A says one"),
      step("b", 4, "B says two"),
      step("c", 9, "Oslo"),
    ],
    messages: { asked: { role: "user", content: "Which city?" } },
    answer: "Oslo",
    ending: { reason: "answered" },
    usage: {
      promptTokens: 5,
      completionTokens: 5,
      billedTokens: 10,
      computedTokens: 10,
      cachedTokens: 0,
      reasoningTokens: 0,
      costUsd: 0,
      modelCalls: 5,
      toolCalls: 2,
      toolMs: 0,
      wallMs: 9,
    },
    source: "test",
    completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
  };
}
