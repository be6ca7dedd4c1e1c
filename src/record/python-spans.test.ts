import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { chat, calls as toolCalls, user } from "../../test/fixtures/exchanges.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { langSmithToSpans } from "./formats/langsmith.ts";
import { importFiles } from "./import-file.ts";
import { traceGroups } from "./spans-to-runs.ts";
import type { TraceSpan } from "./trace-span.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall } from "./wire-exchange.ts";

const at = (name: string) => join(import.meta.dirname, "../../test/fixtures/python-teams", `${name}.traces.jsonl`);

describe("OpenInference as the instrumentors of Python frameworks write it", () => {
  it("smolagents: steps are no agents, contents are read, code is a call, the answer is what the agent gave back", async () => {
    const [run, ...others] = await importFiles([at("smol-tool-1-collect")]);
    assert.equal(others.length, 0);
    assert.equal(run!.question, "T0: What is the population of Oslo times 2?");
    assert.equal(run!.answer, "The answer of T0 is 200000. [n4]");
    assert.deepEqual(
      run!.agents.map(({ name, parentCallId }) => [name, parentCallId !== undefined]),
      [
        ["CodeAgent", false],
        ["research_agent", true],
      ],
    );
    const used = run!.steps.flatMap(({ toolCalls }) => toolCalls);
    assert.deepEqual(
      used.map(({ name }) => name),
      ["python_interpreter", "lookup", "final_answer", "python_interpreter"],
    );
    assert.ok(used.every(({ result }) => result !== undefined));
    assert.equal(refusedForTraining(run!), null);
  });

  it("CrewAI: an agent that is given what another said comes after it", async () => {
    const [run, ...others] = await importFiles([at("crew-seq-1-collect-llm")]);
    assert.equal(others.length, 0);
    assert.deepEqual(
      run!.agents.map(({ name, handoffFrom }) => [name, handoffFrom]),
      [
        ["Researcher", undefined],
        ["Writer", "agent-1"],
      ],
    );
    assert.equal(run!.answer, "The answer of T0 is 200000. [n3]");
    assert.equal(refusedForTraining(run!), null);
  });
});

describe("LangGraph by LangSmith", () => {
  it("has the agents that its model runs name, and what each was given", () => {
    const time = (second: number) => `2026-11-18T08:00:0${second}`;
    const node = (id: string, name: string, second: number) => ({
      id,
      trace_id: "g",
      parent_run_id: "g",
      run_type: "chain",
      name,
      start_time: time(second),
      extra: { metadata: { langgraph_node: name, langgraph_checkpoint_ns: `${name}:${id}` } },
    });
    const model = (id: string, parent: string, place: string, prompt: string, text: string, second: number) => ({
      id,
      trace_id: "g",
      parent_run_id: parent,
      run_type: "llm",
      name: "ChatOpenAI",
      start_time: time(second),
      inputs: {
        messages: [
          [
            { type: "system", content: `You do ${place}.` },
            { type: "human", content: prompt },
          ],
        ],
      },
      outputs: { generations: [[{ message: { type: "ai", content: text } }]] },
      extra: { metadata: { langgraph_node: "model", langgraph_checkpoint_ns: place } },
    });
    const found = "The archive holds forty-one letters of that year.";
    const spans = langSmithToSpans([
      { id: "g", trace_id: "g", run_type: "chain", name: "LangGraph", start_time: time(0) },
      node("n1", "researcher", 1),
      { ...node("n2", "model", 2), parent_run_id: "n1" },
      model("m1", "n2", "researcher:n1|model:n2", "How many letters?", found, 2),
      node("n3", "writer", 3),
      model("m2", "n3", "writer:n3", `Write it up: ${found}`, "Forty-one letters.", 4),
    ]);
    const [run, ...others] = traceGroups(spans, "collector").flatMap(({ runs }) => runs);
    assert.equal(others.length, 0);
    assert.deepEqual(
      run?.agents.map(({ name, handoffFrom }) => [name, handoffFrom]),
      [
        ["researcher", undefined],
        ["writer", "agent-1"],
      ],
    );
    assert.equal(run?.answer, "Forty-one letters.");
  });
});

describe("a trace beside the recorded calls", () => {
  const search = toolCalls(["s1", "search", '{"query":"leave"}']);
  const start = [{ role: "system", content: "You are the clerk." }, user("How many days of leave carry over?")];
  const exchanges = [
    chat(start, { content: "", tool_calls: search }, "tool_calls"),
    chat(
      [
        ...start,
        { role: "assistant", content: "", tool_calls: search },
        { role: "tool", tool_call_id: "s1", content: "Five." },
      ],
      { content: "Five days carry over." },
    ),
  ];
  const wire = exchanges.map((one) => exchangeToCall(one)!);
  const spansOf = (indexes: readonly number[]): TraceSpan[] => [
    { id: "a", traceId: "t", name: "clerk", kind: "agent", startedAt: 0, agent: { name: "clerk" } },
    ...indexes.map((index): TraceSpan => {
      const { startedAt, endedAt, text, toolCalls, responseId = `unseen-${index}` } = wire[index] ?? { startedAt: 99, endedAt: 99, text: "More.", toolCalls: [] };
      return { id: `m${index}`, parentId: "a", traceId: "t", name: "chat", kind: "model", startedAt, endedAt, call: { text, toolCalls, responseId } };
    }),
  ]; // biome-ignore format: one span a line

  it("joins them as a whole", () => {
    const left = new Set(wire);
    const [group] = traceGroups(spansOf([0, 1]), "collector", left);
    assert.equal(left.size, 0);
    assert.deepEqual([group?.runs[0]?.source, group?.runs[0]?.answer], ["collector+wire", "Five days carry over."]);
  });

  it("goes by the traces where equal tasks ran at once and their agents could be of either", () => {
    const begin = [{ role: "system", content: "You are the manager." }, user("How high is the tower?")];
    const inquire = (id: string) => toolCalls([id, "search_agent", '{"input":"Find the height of the tower"}']);
    const find = [{ role: "system", content: "You are the search agent." }, user("Find the height of the tower")];
    const answered = (id: string) => [...begin, { role: "assistant", content: "", tool_calls: inquire(id) }, { role: "tool", tool_call_id: id, content: "It is 90 m high." }]; // biome-ignore format: one history
    const both = [
      ...["a1", "b1"].map((id) => chat(begin, { content: "", tool_calls: inquire(id) }, "tool_calls")),
      ...["a1", "b1"].map(() => chat(find, { content: "It is 90 m high." })),
      ...["a1", "b1"].map((id) => chat(answered(id), { content: "90 m" })),
    ].map((one) => exchangeToCall(one)!);
    // The second search agent was the first manager's.
    const spans = [[0, 3, 4], [1, 2, 5]].flatMap(([first, search, last], task): TraceSpan[] => {
      const [manager, agent] = [`manager ${task}`, `search ${task}`];
      const span = (index: number, parentId: string): TraceSpan => {
        const { startedAt, endedAt, text, toolCalls, responseId } = both[index]!;
        return { id: `m${index}`, parentId, traceId: `t${task}`, name: "chat", kind: "model", startedAt, endedAt, call: { text, toolCalls, responseId } };
      };
      return [
        { id: manager, traceId: `t${task}`, name: "manager", kind: "agent", startedAt: 0, agent: { name: "manager" } },
        { id: `tool ${task}`, parentId: manager, traceId: `t${task}`, name: "search_agent", kind: "tool", startedAt: both[search!]!.startedAt, tool: { name: "search_agent", arguments: '{"input":"Find the height of the tower"}', result: "It is 90 m high." } },
        { id: agent, parentId: `tool ${task}`, traceId: `t${task}`, name: "search_agent", kind: "agent", startedAt: both[search!]!.startedAt, agent: { name: "search_agent" } },
        span(first!, manager), span(search!, agent), span(last!, manager),
      ];
    }); // biome-ignore format: one span a line
    const left = new Set(both);
    const runs = traceGroups(spans, "collector", left).flatMap((group) => group.runs);
    assert.equal(left.size, 0);
    assert.deepEqual(
      runs.map((run) => [run.source, run.steps.length, run.answer, refusedForTraining(run)]),
      [0, 1].map(() => ["collector+wire", 3, "90 m", null]),
    );
  });

  for (const [what, indexes] of [
    ["a trace of only some of the calls", [1]],
    ["a trace with a call that was not recorded", [0, 1, 2]],
  ] as const) {
    it(`adds nothing to the recording: ${what}`, () => {
      const left = new Set(wire);
      assert.deepEqual(
        traceGroups(spansOf(indexes), "collector", left).flatMap(({ runs }) => runs),
        [],
      );
      const [run, ...others] = callsToRuns([...left], "proxy");
      assert.equal(others.length, 0);
      assert.deepEqual([run?.steps.length, run?.answer], [2, "Five days carry over."]);
    });
  }
});
