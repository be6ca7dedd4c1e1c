import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeRequest } from "../../test/fixtures/wire-requests.ts";
import { wireApis } from "../base/wire/apis.ts";
import { writeReply } from "../base/wire/reply-writer.ts";
import type { WireReply } from "../base/wire/wire-api.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamRun } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall, type WireExchange } from "./wire-exchange.ts";

let clock = 0;

function exchange(path: string, request: unknown, response: unknown): WireExchange {
  clock += 10;
  const rest = { status: 200, outcome: "complete" as const, contentType: "application/json" };
  return {
    version: 1,
    id: `e${clock}`,
    path,
    startedAt: clock,
    endedAt: clock + 5,
    request,
    response: JSON.stringify(response),
    ...rest,
  };
}
const runsOf = (exchanges: WireExchange[]): TeamRun[] =>
  callsToRuns(
    exchanges.flatMap((one) => exchangeToCall(one) ?? []),
    "wire",
  );

describe("threads of calls", () => {
  for (const name of ["ollama-chat", "gemini"]) {
    it(`${name}: keeps four identical tasks apart that have no ids for their calls`, () => {
      const api = wireApis.find((one) => one.name === name)!;
      assert.ok(api, wireApis.map((one) => one.name).join(", "));
      const tasks = Array.from({ length: 4 }, (): Message[] => [
        { role: "user", content: "Roll the die three times." },
      ]);
      const tools = [{ name: "roll", description: "rolls", parameters: { type: "object" } }];
      const say = (messages: Message[], reply: Partial<WireReply>) => {
        const { path, body } = writeRequest(api, { model: "m", messages, tools, stream: false });
        const whole: WireReply = { text: "", toolCalls: [], finish: "stop", finished: true, ...reply };
        return exchange(path, JSON.parse(JSON.stringify(body)), writeReply(api, whole));
      };
      const seen: WireExchange[] = [];
      for (let round = 0; round < 3; round++) {
        for (const [task, messages] of tasks.entries()) {
          const toolCalls: ToolCall[] = [{ id: "", name: "roll", arguments: "{}" }];
          seen.push(say(messages, { toolCalls, finish: "tool_calls" }));
          messages.push({ role: "assistant", content: "", toolCalls });
          messages.push({ role: "tool", name: "roll", toolCallId: "", content: `rolled ${task}${round}` });
        }
      }
      for (const [task, messages] of tasks.entries()) seen.push(say(messages, { text: `Done with ${task}.` }));
      const runs = runsOf(seen);
      assert.equal(runs.length, 4);
      for (const run of runs) {
        const task = /\d/.exec(run.answer ?? "")?.[0];
        const results = run.steps.flatMap((step) => step.toolCalls.map(({ result }) => result));
        assert.deepEqual(results, [`rolled ${task}0`, `rolled ${task}1`, `rolled ${task}2`]);
        assert.equal(refusedForTraining(run), null);
      }
    });
  }

  it("finds the results of calls whose ids the client made up afterwards", () => {
    const path = "/v1beta/models/m:generateContent";
    const declared = { tools: [{ functionDeclarations: [{ name: "look", parameters: { type: "object" } }] }] };
    const user = { role: "user", parts: [{ text: "What is on the table?" }] };
    const asked = { functionCall: { name: "look", args: { at: "table" } } };
    const reply = (parts: unknown[]) => ({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] });
    const history = (id: string) => [
      user,
      { role: "model", parts: [{ functionCall: { ...asked.functionCall, id } }] },
      { role: "user", parts: [{ functionResponse: { id, name: "look", response: { result: "a cup" } } }] },
    ];
    const [run, ...others] = runsOf([
      exchange(path, { contents: [user], ...declared }, reply([asked])),
      exchange(path, { contents: history("made-up-1"), ...declared }, reply([{ text: "A cup." }])),
    ]);
    assert.equal(others.length, 0);
    assert.match(run?.steps[0]?.toolCalls[0]?.result ?? "", /a cup/);
    assert.equal(refusedForTraining(run!), null);
  });

  it("reads a thread that Anthropic's server keeps as one run", () => {
    const tools = [{ name: "look", input_schema: { type: "object" } }];
    const answer = (id: string, content: unknown[], stop_reason: string) => ({
      id,
      type: "message",
      role: "assistant",
      model: "m",
      content,
      stop_reason,
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const body = { model: "m", max_tokens: 9, system: "You look.", tools };
    const result = { type: "tool_result", tool_use_id: "t1", content: "a cup" };
    const [run, ...others] = runsOf([
      exchange(
        "/v1/messages",
        { ...body, thread: { type: "create" }, messages: [{ role: "user", content: "What is on the table?" }] },
        answer("msg_1", [{ type: "tool_use", id: "t1", name: "look", input: {} }], "tool_use"),
      ),
      exchange(
        "/v1/messages",
        {
          ...body,
          thread: { type: "continue", previous_message_id: "msg_1" },
          messages: [{ role: "user", content: [result] }],
        },
        answer("msg_2", [{ type: "text", text: "A cup." }], "end_turn"),
      ),
    ]);
    assert.equal(others.length, 0);
    assert.deepEqual([run?.question, run?.answer, run?.agents.length], ["What is on the table?", "A cup.", 1]);
    assert.equal(run?.steps[0]?.toolCalls[0]?.result, "a cup");
    assert.equal(refusedForTraining(run!), null);
  });

  it("links agents that work in the background, and leaves the harness's words out of the question", () => {
    const path = "/v1/chat/completions";
    const reply = (message: unknown, finish_reason = "stop") => ({
      id: `r${clock}`,
      choices: [{ message, finish_reason }],
    });
    const system = (content: string) => ({ role: "system", content });
    const user = (content: string) => ({ role: "user", content });
    const task = "Count the ships in the harbour of Genoa.";
    const tool_calls = [
      { id: "a1", type: "function", function: { name: "Agent", arguments: JSON.stringify({ prompt: task }) } },
    ];
    const asked = user("<system-reminder>Be brief.</system-reminder>\nHow many ships are there?");
    const tools = [{ type: "function", function: { name: "Agent", parameters: {} } }];
    const begun = [
      system("You lead."),
      asked,
      { role: "assistant", content: null, tool_calls },
      { role: "tool", tool_call_id: "a1", content: "Async agent launched successfully." },
    ];
    const waits = { role: "assistant", content: "I wait for the count." };
    const note = user("<task-notification>done: There are forty-two ships in the harbour.</task-notification>");
    const [run, ...others] = runsOf([
      exchange(
        path,
        { model: "m", tools, messages: [system("You lead."), asked] },
        reply({ content: null, tool_calls }, "tool_calls"),
      ),
      exchange(path, { model: "m", tools, messages: begun }, reply(waits)),
      exchange(
        path,
        { model: "m", messages: [system("You count."), user(task)] },
        reply({ content: "There are forty-two ships in the harbour." }),
      ),
      exchange(path, { model: "m", tools, messages: [...begun, waits, note] }, reply({ content: "Forty-two." })),
    ]);
    assert.equal(others.length, 0);
    assert.deepEqual([run?.question, run?.answer], ["How many ships are there?", "Forty-two."]);
    assert.deepEqual(
      run?.agents.map(({ parentCallId }) => parentCallId),
      [undefined, "a1"],
    );
    assert.equal(refusedForTraining(run!), null);
  });
});
