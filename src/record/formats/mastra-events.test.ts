import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { importFiles } from "../import-file.ts";
import { refusedForTraining } from "../trainable.ts";

const schema = { type: "object", properties: { prompt: { type: "string" } } };
let time = Date.parse("2026-11-16T10:00:00Z");

function event(id: string, parentSpanId: string | undefined, type: string, rest: object) {
  time += 10;
  const times = { startTime: new Date(time).toISOString(), endTime: new Date(time + 1000).toISOString() };
  return {
    type: "span_ended",
    exportedSpan: { id, traceId: "t", ...(parentSpanId && { parentSpanId }), type, name: type, ...times, ...rest },
  };
}

it("reads Mastra's own tracing events", async () => {
  const usage = { inputTokens: 20, outputTokens: 5, inputDetails: { cacheRead: 4 } };
  const call = { toolCallId: "c1", toolName: "agent-search", args: { prompt: "Find the year" } };
  const question = { role: "user", content: "When?" };
  const events = [
    event("a1", undefined, "agent_run", {
      entityType: "agent",
      entityId: "manager",
      attributes: { instructions: "You manage." },
    }),
    event("g1", "a1", "model_generation", {
      attributes: { model: "m", tools: [{ name: "agent-search", description: "Searches.", parameters: schema }] },
    }),
    event("s1", "g1", "model_step", {
      input: [{ role: "system", content: "You manage." }, question],
      output: { text: "", toolCalls: [call] },
      attributes: { usage },
    }),
    event("t1", "a1", "tool_call", {
      entityId: "agent-search",
      input: call.args,
      output: "It was 1990.",
      attributes: { toolCallId: "c1" },
    }),
    event("a2", "t1", "agent_run", {
      entityType: "agent",
      entityId: "search",
      attributes: { instructions: "You search." },
    }),
    event("g2", "a2", "model_generation", { attributes: { model: "m" } }),
    event("s2", "g2", "model_step", {
      input: [{ role: "user", content: "Find the year" }],
      output: { text: "It was 1990." },
      attributes: { usage },
    }),
    event("s3", "g1", "model_step", {
      input: [
        question,
        {
          role: "assistant",
          content: [{ type: "tool-call", toolCallId: "c1", toolName: "agent-search", input: call.args }],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "c1",
              toolName: "agent-search",
              output: { type: "text", value: "It was 1990." },
            },
          ],
        },
      ],
      output: { text: "1990" },
      attributes: { usage },
    }),
    event("x1", "s3", "model_chunk", {}),
  ];
  const folder = await mkdtemp(join(tmpdir(), "coa-mastra-"));
  const file = join(folder, "events.jsonl");
  await writeFile(file, events.map((one) => `${JSON.stringify(one)}\n`).join(""));
  const [run, ...others] = await importFiles([file]);
  await rm(folder, { recursive: true });
  assert.equal(others.length, 0);
  assert.deepEqual(
    run?.agents.map(({ name, parentCallId }) => [name, parentCallId]),
    [
      ["manager", undefined],
      ["search", "c1"],
    ],
  );
  assert.deepEqual([run?.question, run?.answer, run?.steps.length], ["When?", "1990", 3]);
  assert.deepEqual([run?.usage.promptTokens, run?.usage.cachedTokens], [60, 12]);
  assert.equal(run?.steps[0]?.toolCalls[0]?.result, "It was 1990.");
  assert.equal(run?.completeness.toolSchemas, true);
  assert.equal(refusedForTraining(run!), null);
});
