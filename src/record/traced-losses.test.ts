import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Json } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import { importFiles } from "./import-file.ts";
import { traceGroups } from "./spans-to-runs.ts";
import type { TraceSpan } from "./trace-span.ts";

const root = await mkdtemp(join(tmpdir(), "coa-traced-"));
after(() => rm(root, { recursive: true, force: true }));
let files = 0;

async function reasons(value: unknown): Promise<string[]> {
  const file = join(root, `trace-${files++}.json`);
  await writeFile(file, JSON.stringify(value));
  const [run] = await importFiles([file]);
  assert.ok(run);
  return (run.completeness.untrainable ?? []).map(({ reason }) => reason);
}

const times = { start: "2026-01-01T00:00:00Z", end: "2026-01-01T00:00:01Z" };
const picture = { type: "image_url", image_url: { url: "https://a.example/x.png" } };

function otlp(attributes: Json): unknown {
  const list = Object.entries(attributes).map(([key, value]) => ({
    key,
    value: Array.isArray(value)
      ? { arrayValue: { values: value.map((one) => ({ stringValue: String(one) })) } }
      : { stringValue: String(value) },
  }));
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "chat m",
    startTimeUnixNano: "1700000000000000000",
    endTimeUnixNano: "1700000001000000000",
    attributes: list,
  };
  return { resourceSpans: [{ scopeSpans: [{ scope: { name: "gen_ai" }, spans: [span] }] }] };
}

/** One call in each tracing format, which ended for this reason and whose prompt has these parts. */
const traces: Record<string, (finish: string, parts: Json[]) => unknown> = {
  "GenAI spans": (finish, parts) =>
    otlp({
      "gen_ai.operation.name": "chat",
      "gen_ai.input.messages": JSON.stringify([
        { role: "user", parts: parts.map((part) => (part["text"] ? { type: "text", content: part["text"] } : part)) },
      ]),
      "gen_ai.output.messages": JSON.stringify([{ role: "assistant", parts: [{ type: "text", content: "A cat" }] }]),
      "gen_ai.response.finish_reasons": [finish],
    }),
  "the AI SDK's spans": (finish, parts) =>
    otlp({
      "ai.operationId": "ai.generateText.doGenerate",
      "ai.prompt.messages": JSON.stringify([{ role: "user", content: parts }]),
      "ai.response.text": "A cat",
      "ai.response.finishReason": finish,
    }),
  LangSmith: (finish, parts) => [
    {
      id: "r1",
      trace_id: "r1",
      run_type: "llm",
      name: "ChatOpenAI",
      start_time: times.start,
      end_time: times.end,
      inputs: { messages: [[{ lc: 1, id: ["x", "HumanMessage"], kwargs: { content: parts } }]] },
      outputs: {
        generations: [
          [
            {
              text: "A cat",
              message: {
                lc: 1,
                id: ["x", "AIMessage"],
                kwargs: { content: "A cat", response_metadata: { finish_reason: finish } },
              },
            },
          ],
        ],
      },
    },
  ],
  Langfuse: (finish, parts) => ({
    id: "t1",
    observations: [
      {
        id: "o1",
        traceId: "t1",
        type: "GENERATION",
        name: "chat",
        startTime: times.start,
        endTime: times.end,
        input: [{ role: "user", content: parts }],
        output: { role: "assistant", content: "A cat" },
        metadata: { finish_reason: finish },
      },
    ],
  }),
  "OpenAI Agents": (finish, parts) => ({
    data: [
      {
        object: "trace.span",
        id: "span_1",
        trace_id: "trace_1",
        started_at: times.start,
        ended_at: times.end,
        span_data: {
          type: "generation",
          input: [{ role: "user", content: parts }],
          output: [{ choices: [{ message: { role: "assistant", content: "A cat" }, finish_reason: finish }] }],
        },
      },
    ],
  }),
};

describe("what a trace tells of a call", () => {
  const asked = { type: "text", text: "What is this?" };
  for (const [name, trace] of Object.entries(traces)) {
    it(`keeps cut replies and missing images out of training: ${name}`, async () => {
      assert.deepEqual(await reasons(trace("stop", [asked])), []);
      assert.deepEqual(await reasons(trace("length", [asked])), ["cut"]);
      assert.deepEqual(await reasons(trace("stop", [asked, picture])), ["missing-media"]);
    });
  }
});

describe("traces that are parts of one run", () => {
  let clock = 0;
  const span = (traceId: string, prompt: Message[], text: string): TraceSpan => {
    clock += 10;
    const call = { messages: prompt, tools: [], text, toolCalls: [] };
    return { id: `s${clock}`, traceId, name: "chat", kind: "model", startedAt: clock, endedAt: clock + 5, call };
  };
  const asked = (system: string, content: string): Message[] => [
    { role: "system", content: system },
    { role: "user", content },
  ];
  const refused = (spans: TraceSpan[]) =>
    traceGroups(spans, "collector")
      .flatMap(({ runs }) => runs)
      .map((run) => run.completeness.untrainable?.map(({ reason }) => reason) ?? []);

  it("refuses traces that quote each other, or that begin after a tool", () => {
    const facts = "The capital of Hungary is Budapest, on both banks.";
    const chain = [
      span("a", asked("You search.", "Which river flows there?"), facts),
      span("b", asked("You write.", `Facts: ${facts}`), "The Danube."),
    ];
    assert.deepEqual(refused(chain), [["part-of-run"], ["part-of-run"]]);
    const later: Message[] = [
      ...asked("You search.", "Which river flows there?"),
      { role: "assistant", content: "", toolCalls: [{ id: "t", name: "look", arguments: "{}" }] },
      { role: "tool", content: "The Danube.", toolCallId: "t" },
    ];
    assert.deepEqual(refused([span("a", later, "The Danube.")]), [["part-of-run"]]);
  });

  it("keeps the turns of a chat and unrelated traces", () => {
    const facts = "The capital of Hungary is Budapest, on both banks.";
    const turn: Message[] = [
      ...asked("You help.", "What is its capital?"),
      { role: "assistant", content: facts },
      { role: "user", content: "And its river?" },
    ];
    const spans = [
      span("a", turn.slice(0, 2), facts),
      span("b", turn, "The Danube."),
      span("c", asked("You help.", "Who wrote Faust?"), "Goethe."),
    ];
    assert.deepEqual(refused(spans), [[], [], []]);
  });
});
