import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { TeamRun } from "../core/team-run.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { distillRun } from "../distill/distill-run.ts";
import { multiProfile } from "../language/profiles.ts";
import { importFiles } from "./import-file.ts";
import { summariseRun } from "./run-summary.ts";
import { refusedForTraining } from "./trainable.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-import-"));
after(() => rm(folder, { recursive: true, force: true }));
let files = 0;
async function imported(content: unknown, format?: string): Promise<TeamRun[]> {
  const file = join(folder, `file-${files++}.json`);
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return importFiles([file], format === undefined ? {} : { format });
}
const lines = (...records: unknown[]) => records.map((record) => JSON.stringify(record)).join("\n");
const traces = join(import.meta.dirname, "../../test/fixtures/traces");

describe("importing files", () => {
  it("reads files of any number of lines", async () => {
    const other = JSON.stringify({ path: "/v1/embeddings", request: {}, response: {} });
    const call = {
      request: { messages: [{ role: "user", content: "What is up?" }] },
      response: { choices: [{ message: { content: "Stars." }, finish_reason: "stop" }] },
    };
    const runs = await imported(`${`${other}\n`.repeat(200_000)}${JSON.stringify(call)}\n`);
    assert.deepEqual(
      runs.map(({ answer }) => answer),
      ["Stars."],
    );
  });

  it("gives the same runs from files that are larger than what it may hold", async () => {
    const batches = ["006", "007", "008"].map((part) => `langsmith.runs-batch.${part}.json`);
    const kinds = [batches, ["wire.lg.jsonl"], ["ax.otlp.json"], ["openai-agents.agents-as-tools.ingest.json"]];
    const named = kinds.map((names) => names.map((name) => join(traces, name)));
    const list = join(folder, "list.json");
    const talk = (n: number) => ({
      messages: [
        { role: "user", content: `Ask ${n}` },
        { role: "assistant", content: `${n}` },
      ],
    });
    await writeFile(list, JSON.stringify([1, 2, 3].map(talk), null, 2));
    for (const paths of [...named, [list]]) {
      const runs = await importFiles(paths);
      assert.ok(runs.length > 0);
      assert.deepEqual(await importFiles(paths, { memoryBytes: 1 }), JSON.parse(JSON.stringify(runs)), paths.join());
    }
  });

  it("reads OpenAI-style conversations, one run each", async () => {
    const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"at":"sky"}' } };
    const runs = await imported(
      lines(
        {
          id: "one",
          messages: [
            { role: "developer", content: "Be brief." },
            { role: "user", content: [{ type: "text", text: "What is up?" }] },
            { role: "assistant", content: null, tool_calls: [call] },
            { role: "tool", tool_call_id: "c1", content: "stars" },
            { role: "assistant", content: "Stars." },
          ],
          tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
        },
        {
          conversations: [
            { from: "human", value: "Hi" },
            { from: "gpt", value: "Hello" },
          ],
        },
      ),
    );
    assert.deepEqual(
      runs.map((run) => [run.question, run.answer, run.steps.length]),
      [
        ["What is up?", "Stars.", 2],
        ["Hi", "Hello", 1],
      ],
    );
    assert.equal(runs[0]?.id, "one");
    assert.equal(runs[0]?.steps[0]?.toolCalls[0]?.result, "stars");
    assert.equal(runs[0]?.agents[0]?.instructions, "Be brief.");
    assert.equal(runs[0]?.topology, "single");
  });

  it("reads a smolagents memory: plan, actions, errors, final answer", async () => {
    const usage = (input: number, output: number) => ({
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
    });
    const python = (id: string, code: string) => ({
      id,
      type: "function",
      function: { name: "python_interpreter", arguments: code },
    });
    const timing = (start: number) => ({ start_time: start, end_time: start + 1, duration: 1 });
    const [run] = await imported([
      { task: "How high is the tower?", task_images: null },
      {
        plan: "1. search",
        model_input_messages: [{ role: "user", content: [{ type: "text", text: "How high?" }] }],
        timing: timing(10),
        token_usage: usage(20, 5),
      },
      {
        step_number: 1,
        timing: timing(12),
        tool_calls: [python("call_1", "search_agent(task='height')")],
        error: { type: "X", message: "no such name" },
        model_output: "Thought: ask",
        observations: null,
        action_output: null,
        token_usage: usage(30, 6),
        is_final_answer: false,
      },
      {
        step_number: 2,
        timing: timing(14),
        tool_calls: [python("call_2", "final_answer(330)")],
        error: null,
        model_output: "Thought: done",
        observations: "Last output: 330",
        action_output: 330,
        token_usage: usage(40, 7),
        is_final_answer: true,
      },
    ]);
    assert.equal(run?.question, "How high is the tower?");
    assert.equal(run?.answer, "330");
    assert.deepEqual(
      run?.steps.map((step) => step.move ?? step.text),
      ["plan", "Thought: ask", "Thought: done"],
    );
    assert.equal(run?.steps[1]?.toolCalls[0]?.error, "no such name");
    assert.equal(run?.steps[2]?.toolCalls[0]?.result, "Last output: 330");
    assert.equal(run?.usage.billedTokens, 25 + 36 + 47);
    assert.deepEqual(
      run?.steps[2]?.input.map((key) => run.messages[key]?.role),
      ["user", "assistant", "assistant", "tool"],
    );
    assert.match(run?.completeness.notes.join() ?? "", /sub-agents/);
  });

  it("reads OAgents logs and links sub-agents by the text of their task", async () => {
    const action = (code: string, output: string) => ({
      step_type: "action",
      model_input_messages: null,
      model_output: `Thought\n${code}`,
      observations: output,
      error: null,
      step: 1,
      tool_calls: [
        { id: `call_${code.length}`, type: "function", function: { name: "python_interpreter", arguments: code } },
      ],
    });
    const sub = (answer: string) => ({
      answer,
      tool_calls: [{ name: "web_search", args: { query: answer }, observation: `page about ${answer}` }],
    });
    const record = {
      agent_name: "manager",
      question: "Who?",
      augmented_question: "Who? Be exact.",
      prediction: "Ada",
      true_answer: "Ada",
      task_id: "gaia-7",
      task: 2,
      start_time: "2025-06-01 12:30:00",
      end_time: "2025-06-01 12:31:00",
      intermediate_steps: [
        { step_type: "task", task: "Who? Be exact." },
        { step_type: "planning", facts: "none", plan: "search" },
        action("search_agent(task='find the person')", "found Ada"),
        action("x = search_agent(task='check the year'); search_agent(task='check the year')", "1843"),
      ],
      search_agent_actions: { "find the person": sub("Ada"), "check the year": sub("1843") },
    };
    const twice = {
      ...record,
      task_id: "gaia-8",
      intermediate_steps: [...record.intermediate_steps, action("search_agent('find the person') # again", "Ada")],
    };
    const [run, again] = await imported(lines(record, twice));
    assert.deepEqual([run?.taskId, run?.answer, run?.question], ["gaia-7", "Ada", "Who?"]);
    assert.deepEqual(
      summariseRun(run!).delegations.map(({ from, to }) => [from, to]),
      [
        ["manager", "search_agent"],
        ["manager", "search_agent"],
      ],
    );
    assert.ok(run?.agents.every((agent) => !agent.ambiguousLink));
    assert.deepEqual(
      run?.steps
        .flatMap((step) => step.toolCalls)
        .filter(({ name }) => name === "web_search")
        .map(({ result }) => result),
      ["page about Ada", "page about 1843"],
    );
    assert.equal(run?.completeness.toolCallIds, false);
    assert.equal(run?.meta?.["trueAnswer"], "Ada");
    assert.equal(summariseRun(again!).ambiguousLinks, 1);
  });

  it("reads a Langfuse trace", async () => {
    const call = { id: "c1", type: "function", function: { name: "ask", arguments: "{}" } };
    const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
    const [run] = await imported({
      id: "trace-1",
      observations: [
        { id: "a", type: "AGENT", name: "boss", startTime: at(0), endTime: at(9) },
        {
          id: "g1",
          type: "GENERATION",
          parentObservationId: "a",
          startTime: at(1),
          model: "m",
          input: {
            messages: [{ role: "user", content: "Q?" }],
            tools: [{ type: "function", function: { name: "ask", parameters: {} } }],
          },
          output: { role: "assistant", content: "", tool_calls: [call] },
          usageDetails: { input: 9, output: 2 },
        },
        {
          id: "t",
          type: "TOOL",
          parentObservationId: "a",
          name: "ask",
          startTime: at(2),
          endTime: at(5),
          input: {},
          output: "yes",
        },
        { id: "b", type: "AGENT", parentObservationId: "t", name: "helper", startTime: at(3) },
        {
          id: "g2",
          type: "GENERATION",
          parentObservationId: "b",
          startTime: at(4),
          input: [{ role: "user", content: "help" }],
          output: "yes",
          usageDetails: { input: 5, output: 1 },
        },
        {
          id: "g3",
          type: "GENERATION",
          parentObservationId: "a",
          startTime: at(6),
          input: [{ role: "user", content: "Q?" }],
          output: { content: "A." },
          usageDetails: { input: 12, output: 3 },
        },
      ],
    });
    assert.deepEqual(summariseRun(run!).delegations, [{ from: "boss", to: "helper", callId: "c1" }]);
    assert.deepEqual([run?.answer, run?.usage.billedTokens, run?.steps.length], ["A.", 32, 3]);
  });

  it("reads the AI SDK's older spans and the oldest conventions", async () => {
    const attribute = (key: string, value: string | number) => ({
      key,
      value: typeof value === "number" ? { intValue: value } : { stringValue: value },
    });
    let clock = 1;
    const span = (
      spanId: string,
      parentSpanId: string,
      attributes: Record<string, string | number>,
      events: unknown[] = [],
    ) => ({
      traceId: "t1",
      spanId,
      parentSpanId,
      name: spanId,
      startTimeUnixNano: `${clock++}000000`,
      endTimeUnixNano: `${clock}000000`,
      attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
      events,
    });
    const otlp = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ scope: { name: "ai" }, spans }] }] });
    const prompt = [
      { role: "system", content: "Lead." },
      { role: "user", content: [{ type: "text", text: "Q?" }] },
    ];
    const after = [
      ...prompt,
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "ask", input: { a: 1 } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "ask", output: { type: "text", value: "yes" } }],
      },
    ];
    const tool = JSON.stringify({ type: "function", name: "ask", inputSchema: {} });
    const model = (messages: unknown) => ({
      "ai.operationId": "ai.generateText.doGenerate",
      "ai.prompt.messages": JSON.stringify(messages),
      "ai.prompt.tools": `[${JSON.stringify(tool)}]`,
      "ai.usage.inputTokens": 10,
      "ai.usage.outputTokens": 2,
    });
    const [legacy] = await imported(
      otlp(
        span("root", "", { "ai.operationId": "ai.generateText", "ai.telemetry.functionId": "boss" }),
        span("m1", "root", {
          ...model(prompt),
          "ai.response.toolCalls": JSON.stringify([{ toolCallId: "c1", toolName: "ask", input: '{"a":1}' }]),
        }),
        span("tool", "root", {
          "ai.operationId": "ai.toolCall",
          "ai.toolCall.id": "c1",
          "ai.toolCall.name": "ask",
          "ai.toolCall.args": '{"a":1}',
          "ai.toolCall.result": '"yes"',
        }),
        span("m2", "root", { ...model(after), "ai.response.text": "A." }),
      ),
    );
    assert.deepEqual(
      [legacy?.agents[0]?.name, legacy?.answer, legacy?.steps[0]?.toolCalls[0]?.result],
      ["boss", "A.", "yes"],
    );
    assert.deepEqual(
      legacy?.steps[1]?.input.map((key) => legacy.messages[key]?.role),
      ["system", "user", "assistant", "tool"],
    );
    const [flat] = await imported(
      otlp(
        span("m", "", {
          "gen_ai.system": "openai",
          "gen_ai.prompt.0.role": "user",
          "gen_ai.prompt.0.content": "Q?",
          "gen_ai.completion.0.role": "assistant",
          "gen_ai.completion.0.content": "A.",
          "gen_ai.usage.prompt_tokens": 4,
          "gen_ai.usage.completion_tokens": 1,
        }),
      ),
    );
    assert.deepEqual([flat?.question, flat?.answer, flat?.usage.billedTokens], ["Q?", "A.", 5]);
    const message = (name: string, attributes: Record<string, string>) => ({
      name,
      attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    });
    const [events] = await imported(
      otlp(
        span("m", "", { "gen_ai.operation.name": "chat" }, [
          message("gen_ai.user.message", { content: "Q?" }),
          message("gen_ai.choice", { message: '{"content":"A."}' }),
        ]),
      ),
    );
    assert.deepEqual([events?.question, events?.answer], ["Q?", "A."]);
    const cut = otlp(
      span("m", "", {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"te',
        "gen_ai.output.messages": "[]",
      }),
    );
    const [broken] = await imported(cut);
    assert.equal(broken?.completeness.truncated, true);
    assert.match(refusedForTraining(broken!) ?? "", /cut: .*JSON that does not end/);
    const many = Object.fromEntries(Array.from({ length: 128 }, (_, index) => [`gen_ai.prompt.${index}.content`, "x"]));
    const [limit] = await imported(otlp(span("m", "", { ...many, "gen_ai.operation.name": "chat" })));
    assert.match(refusedForTraining(limit!) ?? "", /128 attributes/);
  });

  it("says which formats there are when it knows none", async () => {
    await assert.rejects(imported({ hello: 1 }), /no known format \(fields: hello\).*`format.*oagents/);
    await assert.rejects(imported("[]", "nonsense"), /unknown format "nonsense"/);
    await assert.rejects(imported("{not json\n{"), /neither JSON nor JSONL/);
    await assert.rejects(importFiles([join(folder, "missing.json")]), /there is no file/);
  });

  it("gives distillation the same chain from every framework's own traces", async () => {
    const sources = [
      ["wire.aisdk.jsonl"],
      ["ai-sdk-7.genai.otlp.json"],
      ["langgraph.openinference.otlp.json"],
      ["006", "007", "008"].map((part) => `langsmith.runs-batch.${part}.json`),
      ["openai-agents.agents-as-tools.ingest.json"],
    ];
    const options = { profile: multiProfile, fill: true };
    const texts = new Set<string>();
    for (const source of sources) {
      const [run] = await importFiles(source.map((name) => join(traces, name)));
      const { trajectory, failure } = distillRun(run!, options);
      assert.ok(trajectory, failure?.message ?? "");
      texts.add(trajectoryText(trajectory.segments));
    }
    assert.equal(texts.size, 1, [...texts].join("\n\n"));
  });
});
