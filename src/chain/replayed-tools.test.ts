import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineTask } from "../core/task.ts";
import type { TeamRun, TeamToolCall } from "../core/team-run.ts";
import { emptyUsage } from "../core/usage.ts";
import { distillRun } from "../distill/distill-run.ts";
import { tagSpec, toolTags } from "../language/profile.ts";
import { multiProfile, webProfile } from "../language/profiles.ts";
import { scriptedModel } from "../testing/index.ts";
import { replayedTools } from "./replayed-tools.ts";
import { runChain } from "./run-chain.ts";

const task = defineTask({ id: "t", question: "How warm is it in Lyon?" });
const call = (name: string, input: unknown, result: Partial<TeamToolCall>): TeamToolCall => ({ id: `${name}-${JSON.stringify(input)}`, name, arguments: JSON.stringify(input), ...result }); // biome-ignore format: one line

function recording(
  calls: TeamToolCall[],
  tools: { name: string; description?: string; parameters?: unknown }[] = [],
): TeamRun {
  const step = { agentId: "a", input: [], promptTokens: 1, completionTokens: 1 };
  return {
    version: 1,
    id: "r",
    question: task.question,
    topology: "single",
    agents: [{ id: "a", name: "a", tools }],
    steps: [
      ...calls.map((one, index) => ({ ...step, id: `s${index}`, text: `I use ${one.name}.`, toolCalls: [one] })),
      { ...step, id: "last", text: "18", toolCalls: [] },
    ],
    messages: {},
    answer: "18",
    ending: { reason: "answered" },
    usage: emptyUsage(),
    source: "proxy",
    completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
  };
}

describe("replayedTools", () => {
  const run = recording([
    call("getWeather", { city: "Lyon", unit: "C" }, { error: "timeout" }),
    call("getWeather", { unit: "C", city: " Lyon" }, { result: "18 degrees" }),
    call("delegate", { task: "x" }, { result: "done", delegatesTo: "a" }),
  ]);

  it("answer what was recorded, say what was not, and the trajectory counts it", async () => {
    const tools = replayedTools([run]);
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ["getWeather"],
    );
    const turn = (city: string) =>
      `<think>t</think><get_weather>\`\`\`json\n{"city":"${city}","unit":"C"}\n\`\`\`</get_weather>`;
    const check = "<think>t</think><suggested_answer>18</suggested_answer><think>t</think><double_check>The score this time is:4</double_check><answer>18</answer>"; // biome-ignore format: one line
    const model = scriptedModel([turn("Lyon"), turn("Paris"), check]);
    const trajectory = await runChain(task, { model, tools, profile: webProfile });
    assert.deepEqual(
      trajectory.segments.flatMap(({ call: made, text }) => (made ? [[made.answeredBy, made.ok, text]] : [])),
      [
        ["recording", true, "18 degrees"],
        ["not-recorded", false, "error: getWeather: not recorded: this call was not made in the recordings"],
      ],
    );
    assert.equal(trajectory.answer, "18");
  });
});

describe("a recorded tool that no tag of the profile calls", () => {
  it("gets a tag of its own, written as it was called", () => {
    const run = recording([call("getWeather", { city: "Lyon", unit: "C" }, { result: "18 degrees" })], [
      { name: "getWeather", description: "Current weather.", parameters: { type: "object", properties: { city: { type: "string" }, unit: { type: "string" } }, required: ["city"] } },
    ]); // biome-ignore format: short
    const { trajectory, failure } = distillRun(run, { profile: webProfile });
    assert.ok(trajectory, failure?.message ?? "");
    assert.ok(
      trajectory.segments.some(({ tag, text }) => tag === "get_weather" && text.includes('{"city":"Lyon","unit":"C"}')),
    );
    assert.equal(tagSpec(trajectory.language!.profile, "get_weather")?.tool, "getWeather");
    assert.match(trajectory.prompt[0]!.content, /<get_weather>: Current weather\./);
  });

  it("is a program of another language too: JavaScript does not become a Python block", () => {
    const javascript = "const total = [1, 2].reduce((a, b) => a + b, 0);\nconsole.log(total)";
    for (const input of [{ code: javascript }, { language: "javascript", code: "print(1)" }]) {
      const { trajectory, failure } = distillRun(recording([call("run_code", input, { result: "3" })]), {
        profile: multiProfile,
      });
      assert.ok(trajectory, failure?.message ?? "");
      const written = trajectory.segments.find(({ tag }) => tag === "run_code")!;
      assert.ok(written, JSON.stringify(trajectory.segments.map(({ tag }) => tag)));
      assert.doesNotMatch(written.text, /```py/);
      assert.ok(toolTags(trajectory.language!.profile).some((tag) => tag.tool === "run_code"));
    }
    const python = distillRun(recording([call("run_code", { code: "print(1 + 2)" }, { result: "3" })]), {
      profile: multiProfile,
    });
    assert.ok(python.trajectory!.segments.some(({ tag, text }) => tag === "code" && text.includes("```python")));
  });
});
