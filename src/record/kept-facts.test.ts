import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { calls, chat, exchange, reasons, runsOf, user } from "../../test/fixtures/exchanges.ts";
import type { Json } from "../core/json-value.ts";
import type { Price } from "../core/model.ts";
import { priceRun, summariseRun } from "./run-summary.ts";
import { refusedForTraining } from "./trainable.ts";
import type { WireExchange } from "./wire-exchange.ts";

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

  it("keeps the ids and log-probabilities of a reply where the server gives them, whole and streamed", () => {
    const path = "/v1/chat/completions";
    const logprobs = (...list: [string, number][]) => ({
      content: list.map(([token, logprob]) => ({ token, logprob })),
    });
    const whole = { message: { role: "assistant", content: "Five days" }, finish_reason: "stop" };
    const ask = (question: string) => ({ model: "m", messages: [user(question)] });
    const events = [
      { choices: [{ index: 0, delta: { content: "Five" }, logprobs: logprobs(["Five", -0.5]), token_ids: [7] }] },
      { choices: [{ index: 0, delta: { content: " days" }, logprobs: logprobs([" days", -1]), token_ids: [8] }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ];
    const response = [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"].join("");
    const runs = runsOf([
      exchange(path, ask("first"), { choices: [{ ...whole, logprobs: logprobs(["Five", -0.5], [" days", -1]) }] }),
      exchange(path, ask("second"), {}, { response, contentType: "text/event-stream" }),
      exchange(path, ask("third"), { choices: [{ ...whole, token_ids: [7, 8], logprobs: logprobs(["Five", -0.5]) }] }),
      exchange(path, ask("fourth"), { choices: [{ ...whole, logprobs: null }] }),
    ]);
    assert.deepEqual(
      runs.map((run) => run.steps[0]?.sampled),
      [
        { logprobs: [-0.5, -1], texts: ["Five", " days"] },
        { tokens: [7, 8], logprobs: [-0.5, -1] },
        undefined,
        undefined,
      ],
    );
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

  it("does not count a call that the budget refused, and prices a model by the name that was asked for", () => {
    const reply = { model: "gpt-9-2026-08-07", choices: [{ message: { content: "Yes." }, finish_reason: "stop" }] };
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000 };
    const messages = [{ role: "user", content: "Is it?" }];
    const made = (id: string, more: Partial<WireExchange>): WireExchange => ({
      ...{ version: 1, id, runId: "r", path: "/v1/chat/completions", startedAt: Number(id), endedAt: Number(id) },
      ...{ status: 200, outcome: "complete", contentType: "application/json", request: { model: "gpt-9", messages } },
      response: JSON.stringify({ ...reply, usage }),
      ...more,
    });
    const over = { role: "user", content: "And now?" };
    const refused = made("2", {
      ...{ status: 402, outcome: "upstream-error", error: "budget: run r: 1 of 1 calls are used", response: "" },
      request: { model: "gpt-9", messages: [...messages, { role: "assistant", content: "Yes." }, over] },
    });
    const [run] = runsOf([made("1", {}), refused]);
    assert.deepEqual([run?.usage.modelCalls, summariseRun(run!).agents[0]?.modelCalls], [1, 1]);
    const cost = (prices: Record<string, Price>) => priceRun(run!, prices).usage.costUsd;
    assert.equal(cost({ "gpt-9": { input: 2, output: 3 } }), 5);
    assert.equal(cost({ "gpt-9-mini": { input: 2, output: 3 }, "*": { input: 1, output: 1 } }), 2);
    assert.equal(cost({ "gpt-9-mini": { input: 2, output: 3 } }), 0);
  });

  it("names sub-agents by the arguments that choose them", () => {
    const names = [
      ["task", { description: "Find the year now", subagent_type: "researcher" }, "researcher"],
      ["delegate_task", { task: "Find the year now", agent: "Web Scout" }, "Web Scout"],
      ["handOff", { to: "analyst", message: "Find the year now" }, "analyst"],
      ["spawn_agent", { agent_type: "scout", message: "Find the year now" }, "scout"],
      ["ask", { who: "historian", question: "Find the year now" }, "historian"],
      ["delegate", { toAgent: "analyst", task: "Find the year now" }, "analyst"],
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
    const only = { tools: [{ type: "function", function: { name: "Year", parameters: {} } }], tool_choice: "required" };
    assert.equal(by("Year", '{"year":"1990"}', only)?.answer, "1990");
    assert.deepEqual(reasons(by("attempt_completion", '{"result":"1990"}')), []);
    const beside = calls(["c1", "save_note", "{}"], ["c2", "finalAnswer", '{"answer":"1990"}']);
    const [run] = runsOf([chat([user("When?")], { content: null, tool_calls: beside }, "tool_calls")]);
    assert.deepEqual([run?.answer, run?.agents[0]?.report], ["1990", "1990"]);
  });

  it("reads thoughts that stand among the parts of a reply as thoughts, and tools of the API as tools", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
      { type: "text", text: "1990" },
    ];
    const [thought] = runsOf([chat([user("When?")], { content })]);
    assert.deepEqual([thought?.answer, thought?.steps[0]?.reasoning], ["1990", "Hm."]);
    const shell = { type: "shell_call", id: "sh", call_id: "c1", action: { commands: ["ls"] } };
    const done = { type: "shell_call_output", call_id: "c1", output: [{ stdout: "a b", stderr: "" }] };
    const answer = (...output: Json[]) => ({ object: "response", status: "completed", output });
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "a and b" }] };
    const [run, ...more] = runsOf([
      exchange("/v1/responses", { input: "List" }, answer(shell)),
      exchange("/v1/responses", { input: [user("List"), shell, done] }, answer(said)),
    ]);
    assert.equal(more.length, 0);
    assert.deepEqual([run?.steps[0]?.toolCalls[0]?.result, run?.answer, reasons(run)], ["a b", "a and b", []]);
  });

  it("counts thoughts that a server adds to the sum alone", () => {
    const [run] = runsOf([
      exchange(
        "/v1/chat/completions",
        { messages: [user("Q")] },
        {
          choices: [{ index: 0, message: { content: "A" }, finish_reason: "stop" }],
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            total_tokens: 115,
            completion_tokens_details: { reasoning_tokens: 100 },
          },
        },
      ),
    ]);
    assert.deepEqual([run?.usage.completionTokens, run?.usage.reasoningTokens], [105, 100]);
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
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            prompt_cache_hit_tokens: 8,
            completion_tokens_details: { reasoning_tokens: 3 },
          },
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
