import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiOf } from "../base/wire/apis.ts";
import type { Json } from "../core/json-value.ts";
import type { TeamRun } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { resolveItems } from "./resolve-items.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall, type WireExchange } from "./wire-exchange.ts";

let clock = 0;

function exchange(path: string, request: Json, response: unknown, more: Partial<WireExchange> = {}): WireExchange {
  clock += 10;
  return {
    version: 1,
    id: `e${clock}`,
    path,
    startedAt: clock,
    endedAt: clock + 5,
    status: 200,
    outcome: "complete",
    request,
    contentType: "application/json",
    response: JSON.stringify(response),
    ...more,
  };
}

const runsOf = (exchanges: readonly WireExchange[]): TeamRun[] =>
  callsToRuns(
    resolveItems(exchanges).flatMap((one) => exchangeToCall(one) ?? []),
    "wire",
  );
const reasons = (run: TeamRun | undefined) => (run?.completeness.untrainable ?? []).map(({ reason }) => reason);

const usage = { prompt_tokens: 10, completion_tokens: 5 };
const chat = (messages: Json[], message: Json, finish = "stop", more: Json = {}) =>
  exchange(
    "/v1/chat/completions",
    { model: "m", messages, ...more },
    {
      id: `r${clock}`,
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
      usage,
    },
  );
const user = (content: unknown): Json => ({ role: "user", content });
const calls = (...list: [id: string, name: string, args: string][]) =>
  list.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } }));

describe("turns of a session", () => {
  it("become one run each, with the turns before as their history", () => {
    const one = [user("What is the capital of France?")];
    const two = [...one, { role: "assistant", content: "Paris." }, user("And its river?")];
    const three = [...two, { role: "assistant", content: "The Seine." }, user("How long is it?")];
    const look = calls(["c1", "web_search", '{"q":"Seine"}']);
    const runs = runsOf([
      chat(one, { content: "Paris." }),
      chat(two, { content: "The Seine." }),
      chat(three, { content: null, tool_calls: look }, "tool_calls"),
      chat(
        [
          ...three,
          { role: "assistant", content: null, tool_calls: look },
          { role: "tool", tool_call_id: "c1", content: "777 km" },
        ],
        { content: "777 km." },
      ),
    ]);
    assert.deepEqual(
      runs.map(({ question, answer, history = [] }) => [question, answer, history.length]),
      [
        ["What is the capital of France?", "Paris.", 0],
        ["And its river?", "The Seine.", 2],
        ["How long is it?", "777 km.", 4],
      ],
    );
    assert.equal(new Set(runs.map(({ session }) => session)).size, 1);
    assert.equal(new Set(runs.map(({ id }) => id)).size, 3);
    assert.equal(runs[2]?.steps.length, 2);
    assert.deepEqual(runs.map(refusedForTraining), [null, null, null]);
  });

  it("are not begun by observations that a text agent reads in the user's name", () => {
    const one = [user("How much is 2 + 2?")];
    const two = [...one, { role: "assistant", content: "Action: add" }, user("Observation: 4")];
    const runs = runsOf([chat(one, { content: "Action: add" }), chat(two, { content: "It is 4." })]);
    assert.deepEqual(
      runs.map(({ question, answer, steps }) => [question, answer, steps.length]),
      [["How much is 2 + 2?", "It is 4.", 2]],
    );
  });
});

describe("what must not be trained on", () => {
  it("a reply cut by the token limit, in every API", () => {
    const cut = { text: "It is in", toolCalls: [], finish: "length" as const, finished: true };
    for (const path of [
      "/v1/chat/completions",
      "/v1/responses",
      "/v1/messages",
      "/v1beta/models/m:generateContent",
      "/api/chat",
      "/model/m/converse",
    ]) {
      const api = apiOf(path)!;
      const written = api.writeRequest({ model: "m", messages: [{ role: "user", content: "Where?" }], tools: [] });
      const [run] = runsOf([exchange(written.path, written.body, api.writeReply(cut))]);
      assert.deepEqual(reasons(run), ["cut"], api.name);
      assert.match(refusedForTraining(run!) ?? "", /cut: .*token limit/);
    }
  });

  it("images, sound and files that are not kept", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const bodies: [string, Json][] = [
      ["/v1/chat/completions", { messages: [user([{ type: "text", text: "What is this?" }, image])] }],
      ["/v1/responses", { input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] }],
      ["/v1/messages", { max_tokens: 9, messages: [user([{ type: "image", source: {} }])] }],
      [
        "/v1/messages",
        {
          max_tokens: 9,
          messages: [user([{ type: "tool_result", tool_use_id: "t", content: [{ type: "image", source: {} }] }])],
        },
      ],
      ["/v1beta/models/m:generateContent", { contents: [{ role: "user", parts: [{ inlineData: {} }] }] }],
      ["/api/chat", { model: "m", messages: [{ role: "user", content: "What?", images: ["AAAA"] }] }],
      ["/model/m/converse", { messages: [{ role: "user", content: [{ image: {} }] }] }],
    ];
    for (const [path, body] of bodies) {
      const api = apiOf(path)!;
      const reply = api.writeReply({ text: "A cat.", toolCalls: [], finish: "stop", finished: true });
      assert.ok(reasons(runsOf([exchange(path, body, reply)])[0]).includes("missing-media"), api.name);
    }
    const spoken = chat([user("Say it")], { content: null, audio: { id: "a", transcript: "Hello there." } });
    const [run] = runsOf([spoken]);
    assert.equal(run?.answer, "Hello there.");
    assert.ok(reasons(run).includes("missing-media"));
  });

  it("tools that the server ran without telling the result; those with one are steps like others", () => {
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "It was 1990." }] };
    const response = (item: Json) => ({
      id: "r",
      object: "response",
      status: "completed",
      output: [item, message],
      usage: { input_tokens: 9, output_tokens: 4 },
    });
    const ask = (item: Json) => runsOf([exchange("/v1/responses", { model: "m", input: "When?" }, response(item))])[0]!;
    assert.deepEqual(
      reasons(ask({ type: "web_search_call", id: "ws", status: "completed", action: { query: "telescope" } })),
      ["hosted-tool"],
    );
    for (const item of [
      { type: "code_interpreter_call", id: "ci", code: "print(1990)", outputs: [{ type: "logs", logs: "1990" }] },
      {
        type: "mcp_call",
        id: "mc",
        name: "look_up",
        server_label: "s",
        arguments: '{"q":"telescope"}',
        output: "1990",
      },
    ]) {
      const run = ask(item);
      assert.deepEqual(reasons(run), []);
      assert.equal(run.answer, "It was 1990.");
      assert.equal(run.steps.length, 2);
      assert.equal(run.steps[0]?.toolCalls[0]?.result, "1990");
      assert.equal(run.usage.modelCalls, 1);
      assert.equal(run.usage.promptTokens, 9);
    }
  });

  it("histories that stay on the server, unless the recording holds them", () => {
    const reply = (id: string, text: string) => ({
      id,
      object: "response",
      status: "completed",
      output: [{ type: "message", id: `msg_${id}`, role: "assistant", content: [{ type: "output_text", text }] }],
    });
    const ask = (body: Json, id: string, text: string) =>
      exchange("/v1/responses", { model: "m", ...body }, reply(id, text));
    assert.deepEqual(reasons(runsOf([ask({ input: "And?", conversation: "conv_1" }, "a", "So.")])[0]), [
      "history-unseen",
    ]);
    assert.deepEqual(reasons(runsOf([ask({ input: "And?", previous_response_id: "gone" }, "b", "So.")])[0]), [
      "history-unseen",
    ]);
    const unseen = [
      { type: "item_reference", id: "msg_lost" },
      { role: "user", content: "And?" },
    ];
    assert.deepEqual(reasons(runsOf([ask({ input: unseen }, "c", "So.")])[0]), ["history-unseen"]);
    const turns = runsOf([
      ask({ input: [{ role: "user", content: "First?" }] }, "d", "One."),
      ask(
        {
          input: [
            { role: "user", content: "First?" },
            { type: "item_reference", id: "msg_d" },
            { role: "user", content: "Second?" },
          ],
        },
        "e",
        "Two.",
      ),
    ]);
    assert.deepEqual(
      turns.map(({ question, answer }) => [question, answer]),
      [
        ["First?", "One."],
        ["Second?", "Two."],
      ],
    );
    assert.deepEqual(turns.map(reasons), [[], []]);
  });

  it("a sub-agent that can't be linked to the call that started it", () => {
    const boss = (messages: Json[]) => [{ role: "system", content: "You are the boss." }, ...messages];
    const worker = [{ role: "system", content: "You are the worker." }, user("Kindly examine the numbers.")];
    const call = calls(["c1", "start_work", '{"job":17}']);
    const first = chat(boss([user("What is it?")]), { content: null, tool_calls: call }, "tool_calls");
    const inside = chat(worker, { content: "Forty-two, I believe." });
    const last = chat(
      boss([
        user("What is it?"),
        { role: "assistant", content: null, tool_calls: call },
        { role: "tool", tool_call_id: "c1", content: "done" },
      ]),
      { content: "42" },
    );
    const runs = runsOf([first, inside, last]);
    const of = (question: string) => runs.find((run) => run.question === question);
    assert.deepEqual(reasons(of("Kindly examine the numbers.")), ["unlinked"]);
    assert.deepEqual(reasons(of("What is it?")), []);
    const named = runsOf([first, inside, last].map((one) => ({ ...one, runId: "r" })));
    assert.deepEqual(reasons(named[0]), ["unlinked"]);
  });

  it("a refusal; but it is kept", () => {
    const [run] = runsOf([chat([user("Do harm")], { content: null, refusal: "I can't help with that." })]);
    assert.equal(run?.steps[0]?.refusal, "I can't help with that.");
    assert.deepEqual(reasons(run), ["refused"]);
  });
});

describe("what a recording keeps", () => {
  it("is one run where a framework repeats only one of two parallel calls", () => {
    const both = calls(["c1", "web_search", '{"q":"a"}'], ["c2", "web_search", '{"q":"b"}']);
    const start = [user("Compare a and b")];
    const runs = runsOf([
      chat(start, { content: null, tool_calls: both }, "tool_calls"),
      chat(
        [
          ...start,
          { role: "assistant", content: null, tool_calls: [both[1]] },
          { role: "tool", tool_call_id: "c2", content: "B" },
        ],
        { content: "b is B." },
      ),
    ]);
    assert.equal(runs.length, 1);
    assert.deepEqual([runs[0]?.agents.length, runs[0]?.answer], [1, "b is B."]);
  });

  it("counts a call once, however often it was tried", () => {
    const start = [user("Compute")];
    const error = { error: { message: "slow down" } };
    const fail = (status: number) =>
      exchange("/v1/chat/completions", { model: "m", messages: start }, error, { status, outcome: "upstream-error" });
    const [run, ...more] = runsOf([fail(429), fail(500), chat(start, { content: "5953" })]);
    assert.equal(more.length, 0);
    assert.equal(run?.usage.modelCalls, 1);
    assert.equal(run?.usage.computedTokens, 15);
    assert.equal(refusedForTraining(run!), null);
  });

  it("names sub-agents by the arguments that choose them", () => {
    const names = [
      ["task", { description: "Find the year now", subagent_type: "researcher" }, "researcher"],
      ["delegate_task", { task: "Find the year now", agent: "Web Scout" }, "Web Scout"],
      ["handOff", { to: "analyst", message: "Find the year now" }, "analyst"],
      ["Delegate_work_to_coworker", { task: "Find the year now", coworker: "Senior Researcher" }, "Senior Researcher"],
      ["search_agent", { input: "Find the year now" }, "search_agent"],
      ["transfer_to_search", { input: "Find the year now" }, "search"],
    ] as const;
    for (const [tool, input, wanted] of names) {
      const call = calls(["c1", tool, JSON.stringify(input)]);
      const [run] = runsOf([
        chat([user("When?")], { content: null, tool_calls: call }, "tool_calls"),
        chat([{ role: "system", content: "Help." }, user("Find the year now")], {
          content: "It was 1990, says the page.",
        }),
        chat(
          [
            user("When?"),
            { role: "assistant", content: null, tool_calls: call },
            { role: "tool", tool_call_id: "c1", content: "It was 1990, says the page." },
          ],
          { content: "1990" },
        ),
      ]);
      assert.equal(run?.agents[1]?.name, wanted, tool);
    }
  });

  it("takes an answer that was given to a tool", () => {
    const by = (name: string, args: string, more: Json = {}) =>
      runsOf([chat([user("When?")], { content: null, tool_calls: calls(["c1", name, args]) }, "tool_calls", more)])[0];
    assert.equal(by("final_answer", '{"answer":"1990"}')?.answer, "1990");
    assert.equal(by("StructuredOutput", '{"year":1990,"sure":true}')?.answer, '{"year":1990,"sure":true}');
    const forced = { tool_choice: { type: "function", function: { name: "year_of" } } };
    assert.equal(by("year_of", '{"year":"1990"}', forced)?.answer, "1990");
    assert.equal(by("web_search", '{"q":"year"}')?.answer, null);
  });

  it("keeps reasoning tokens, cached tokens, settings, and streamed function calls of the old kind", () => {
    const [run] = runsOf([
      exchange(
        "/v1/chat/completions",
        { model: "m", messages: [user("When?")], temperature: 0.2, response_format: { type: "json_object" }, n: 2 },
        {
          choices: [
            { index: 0, message: { role: "assistant", content: "1990" }, finish_reason: "stop" },
            { index: 1, message: { role: "assistant", content: "1991" }, finish_reason: "stop" },
          ],
          usage: { ...usage, prompt_cache_hit_tokens: 8, completion_tokens_details: { reasoning_tokens: 3 } },
        },
      ),
    ]);
    assert.deepEqual(run?.steps[0]?.settings, {
      temperature: 0.2,
      responseFormat: { type: "json_object" },
      samples: 2,
    });
    assert.deepEqual([run?.usage.cachedTokens, run?.usage.reasoningTokens, run?.answer], [8, 3, "1990"]);
    assert.match(run?.completeness.notes.join() ?? "", /several replies/);
    const chunk = (delta: Json, finish: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const [old] = runsOf([
      exchange("/v1/chat/completions", { messages: [user("When?")] }, "", {
        contentType: "text/event-stream",
        response:
          chunk({ function_call: { name: "look", arguments: '{"q":' } }) +
          chunk({ function_call: { arguments: '"x"}' } }, "function_call"),
      }),
    ]);
    assert.deepEqual(
      old?.steps[0]?.toolCalls.map(({ name, arguments: text }) => [name, text]),
      [["look", '{"q":"x"}']],
    );
  });
});
