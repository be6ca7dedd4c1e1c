import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { calls, chat, exchange, reasons, runsOf, user } from "../../test/fixtures/exchanges.ts";
import { writeRequest } from "../../test/fixtures/wire-requests.ts";
import { apiOf } from "../base/wire/apis.ts";
import { writeReply } from "../base/wire/reply-writer.ts";
import type { Json } from "../core/json-value.ts";
import { refusedForTraining } from "./trainable.ts";

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

  it("are told apart where the user stopped a reply half-way", () => {
    const half = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Half an" } }] })}\n\n`;
    const stopped = exchange("/v1/chat/completions", { messages: [user("First?")] }, "", {
      contentType: "text/event-stream",
      response: half,
      outcome: "client-disconnect",
    });
    const next = [user("First?"), { role: "assistant", content: "Half an" }, user("Second?")];
    assert.deepEqual(
      runsOf([stopped, chat(next, { content: "Two." })]).map((run) => [run.question, run.answer, reasons(run)]),
      [
        ["First?", null, ["no-answer"]],
        ["Second?", "Two.", []],
      ],
    );
  });

  it("keep what stands in messages before the question, a document for example", () => {
    const [run] = runsOf([
      chat([user("The moon is 4.5 billion years old."), user("How old is it?")], { content: "4.5" }),
    ]);
    assert.deepEqual(
      [run?.question, run?.history?.map(({ content }) => content)],
      ["How old is it?", ["The moon is 4.5 billion years old."]],
    );
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
      const written = writeRequest(api, { model: "m", messages: [{ role: "user", content: "Where?" }], tools: [] });
      const [run] = runsOf([exchange(written.path, written.body, writeReply(api, cut))]);
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
      const reply = writeReply(api, { text: "A cat.", toolCalls: [], finish: "stop", finished: true });
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

  it("what follows on the server after images, hosted searches or unseen turns", () => {
    const said = (text: string) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
    const ask = (id: string, body: Json, ...output: Json[]) =>
      exchange("/v1/responses", { model: "m", ...body }, { id, object: "response", status: "completed", output });
    const after = (body: Json, ...output: Json[]) =>
      runsOf([
        ask("one", body, ...output),
        ask("two", { input: "And then?", previous_response_id: "one" }, said("So.")),
      ]);
    const image = { role: "user", content: [{ type: "input_image", image_url: "x" }] };
    assert.deepEqual(reasons(after({ input: [image] }, said("A cat."))[1]), ["missing-media"]);
    const search = {
      type: "web_search_call",
      id: "ws",
      action: { query: "q", sources: [{ url: "https://a.example" }] },
    };
    assert.deepEqual(after({ input: "When?" }, search, said("1990.")).map(reasons), [["hosted-tool"], ["hosted-tool"]]);
    const told = { type: "mcp_call", id: "mc", name: "look", arguments: "{}", output: "1990" };
    const [, second] = after({ input: "When?" }, told, said("It was 1990."));
    assert.deepEqual(reasons(second), []);
    assert.deepEqual(
      second?.history?.map(({ role, content }) => [role, content]),
      [
        ["user", "When?"],
        ["assistant", ""],
        ["tool", "1990"],
        ["assistant", "It was 1990."],
      ],
    );
    const again = [{ role: "user", content: "When?" }, search, said("1990."), { role: "user", content: "Where?" }];
    assert.deepEqual(reasons(runsOf([ask("c", { input: again }, said("In orbit."))])[0]), ["hosted-tool"]);
    for (const body of [
      { prompt: { id: "pmpt_1" }, input: "Q" },
      {
        input: [
          { type: "compaction", encrypted_content: "x" },
          { role: "user", content: "Q" },
        ],
      },
    ]) {
      assert.deepEqual(reasons(runsOf([ask("d", body, said("A."))])[0]), ["history-unseen"]);
    }
    const plot = { type: "code_interpreter_call", id: "ci", code: "plot()", outputs: [{ type: "image", url: "x" }] };
    assert.deepEqual(reasons(runsOf([ask("e", { input: "Plot" }, plot, said("Here."))])[0]), ["missing-media"]);
  });

  it("searches of other servers, whose pages only the model saw", () => {
    const cited = [{ type: "url_citation", url_citation: { url: "https://a.example" } }];
    for (const run of [
      runsOf([chat([user("When?")], { content: "1990", annotations: cited })])[0],
      runsOf([chat([user("When?")], { content: "1990", executed_tools: [{ type: "search" }] })])[0],
      runsOf([chat([user("When?")], { content: "1990" }, "stop", { web_search_options: {} })])[0],
      runsOf([
        exchange(
          "/v1/messages",
          { model: "m", max_tokens: 9, messages: [user("When?")] },
          {
            content: [
              { type: "server_tool_use", id: "s", name: "web_search", input: { query: "q" } },
              {
                type: "web_search_tool_result",
                tool_use_id: "s",
                content: [{ type: "web_search_result", url: "https://a.example", title: "T", encrypted_content: "x" }],
              },
              { type: "text", text: "1990" },
            ],
            stop_reason: "end_turn",
          },
        ),
      ])[0],
    ]) {
      assert.deepEqual(reasons(run), ["hosted-tool"]);
    }
  });

  it("replies that did not end by themselves, and prompts that are not one text", () => {
    const finishes = ["model_length", "insufficient_system_resource", "error", "abort"];
    for (const finish of finishes)
      assert.deepEqual(reasons(runsOf([chat([user("Q")], { content: "Half" }, finish)])[0]), ["cut"], finish);
    for (const finish of ["eos", "end_turn", "STOP"])
      assert.deepEqual(reasons(runsOf([chat([user("Q")], { content: "Whole." }, finish)])[0]), [], finish);
    for (const body of [{ prompt: ["One?", "Two?"] }, { prompt: [1, 2, 3] }, { prompt: "One?", echo: true }]) {
      const reply = { choices: [{ index: 0, text: "1", finish_reason: "stop" }] };
      assert.deepEqual(reasons(runsOf([exchange("/v1/completions", body, reply)])[0]), ["no-content"]);
    }
    const reply = { choices: [{ index: 0, text: "1", finish_reason: "stop" }] };
    assert.deepEqual(reasons(runsOf([exchange("/v1/completions", { prompt: ["One?"] }, reply)])[0]), []);
  });

  it("one of several different replies, unless a later call shows which was used", () => {
    const pick = calls(["b1", "look", '{"q":"b"}']);
    const two = (first: Json, second: Json) =>
      exchange(
        "/v1/chat/completions",
        { model: "m", n: 2, messages: [user("Q")] },
        {
          choices: [first, second].map((message, index) => ({ index, message, finish_reason: "stop" })),
        },
      );
    assert.deepEqual(reasons(runsOf([two({ content: "x" }, { content: "y" })])[0]), ["ambiguous"]);
    assert.deepEqual(reasons(runsOf([two({ content: "x" }, { content: "x" })])[0]), []);
    const [run, ...more] = runsOf([
      two({ content: null, tool_calls: calls(["a1", "look", '{"q":"a"}']) }, { content: null, tool_calls: pick }),
      chat([user("Q"), { role: "assistant", tool_calls: pick }, { role: "tool", tool_call_id: "b1", content: "B" }], {
        content: "B it is.",
      }),
    ]);
    assert.equal(more.length, 0);
    assert.deepEqual(reasons(run), []);
    assert.deepEqual(
      run?.steps[0]?.toolCalls.map(({ id, result }) => [id, result]),
      [["b1", "B"]],
    );
    const part = (index: number, text: string, last: boolean) =>
      `data: ${JSON.stringify({ candidates: [{ index, content: { parts: [{ text }] }, ...(last && { finishReason: "STOP" }) }] })}\n\n`;
    const [streamed] = runsOf([
      exchange(
        "/v1beta/models/g:streamGenerateContent?alt=sse",
        { contents: [{ role: "user", parts: [{ text: "Q" }] }] },
        "",
        {
          contentType: "text/event-stream",
          response: part(0, "one ", false) + part(1, "uno ", false) + part(1, "due", true) + part(0, "two", true),
        },
      ),
    ]);
    assert.equal(streamed?.answer, "one two");
  });

  it("a refusal; but it is kept", () => {
    const [run] = runsOf([chat([user("Do harm")], { content: null, refusal: "I can't help with that." })]);
    assert.equal(run?.steps[0]?.refusal, "I can't help with that.");
    assert.deepEqual(reasons(run), ["refused"]);
  });
});
