import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Message } from "../core/message.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall } from "./wire-exchange.ts";

let clock = 0;

function call(system: string, messages: Message[], reply: Partial<RecordedCall>, tools: string[] = []): RecordedCall {
  clock += 10;
  return {
    id: `call-${clock}`,
    startedAt: clock,
    endedAt: clock + 5,
    messages: [{ role: "system", content: system }, ...messages],
    tools: tools.map((name) => ({ name, parameters: {} })),
    text: "",
    toolCalls: [],
    promptTokens: 10,
    completionTokens: 5,
    outcome: "complete",
    ...reply,
  };
}

const user = (content: string): Message => ({ role: "user", content });
const asks = (id: string, name: string, text = "{}") => [{ id, name, arguments: text }];
const said = (content: string, toolCalls?: Message["toolCalls"]): Message => ({
  role: "assistant",
  content,
  ...(toolCalls && { toolCalls }),
});
const result = (toolCallId: string, content: string): Message => ({ role: "tool", content, toolCallId });

describe("links between agents from wire traffic alone", () => {
  it("finds hand-offs, there and back", () => {
    const toSearch = asks("t1", "transfer_to_search");
    const lookup = asks("t2", "web_search", '{"q":"x"}');
    const toTriage = asks("t3", "transfer_to_triage");
    const a = [user("Who?"), said("", toSearch), result("t1", "transferred")];
    const b = [...a, said("", lookup), result("t2", "Ada")];
    const c = [...b, said("", toTriage), result("t3", "transferred")];
    const [run, ...others] = callsToRuns(
      [
        call("You are triage.", [user("Who?")], { toolCalls: toSearch }, ["transfer_to_search"]),
        call("You are search.", a, { toolCalls: lookup }, ["web_search", "transfer_to_triage"]),
        call("You are search.", b, { toolCalls: toTriage }, ["web_search", "transfer_to_triage"]),
        call("You are triage.", c, { text: "It was Ada." }, ["transfer_to_search"]),
      ],
      "wire",
    );
    assert.equal(others.length, 0);
    assert.equal(run?.topology, "handoff");
    assert.deepEqual(
      run?.agents.map(({ name, handoffFrom }) => [name, handoffFrom]),
      [
        ["manager", undefined],
        ["search", "agent-1"],
        ["triage", "agent-2"],
      ],
    );
    assert.equal(run?.answer, "It was Ada.");
    assert.equal(run?.steps[0]?.toolCalls[0]?.result, "transferred");
  });

  it("keeps an agent whose instructions change with the time of day in one thread", () => {
    const tool = asks("t1", "clock");
    const runs = callsToRuns(
      [
        call("It is 10:00.", [user("When?")], { toolCalls: tool }, ["clock"]),
        call("It is 10:01.", [user("When?"), said("", tool), result("t1", "10:01")], { text: "Now." }, ["clock"]),
      ],
      "wire",
    );
    assert.deepEqual(
      runs.map((run) => run.agents.length),
      [1],
    );
  });

  it("tells parallel delegations apart by their tasks and reports", () => {
    const both = [
      ...asks("t1", "worker", '{"task":"count the cats"}'),
      ...asks("t2", "worker", '{"task":"count the dogs"}'),
    ];
    const runs = callsToRuns(
      [
        call("boss", [user("Count.")], { toolCalls: both }, ["worker"]),
        call("worker", [user("count the dogs")], { text: "three dogs" }),
        call("worker", [user("count the cats")], { text: "two cats" }),
        call(
          "boss",
          [user("Count."), said("", both), result("t1", "two cats"), result("t2", "three dogs")],
          { text: "five" },
          ["worker"],
        ),
      ],
      "wire",
    );
    assert.equal(runs.length, 1);
    assert.deepEqual(
      runs[0]?.agents.map(({ parentCallId }) => parentCallId),
      [undefined, "t2", "t1"],
    );
    assert.ok(runs[0]?.agents.every((agent) => !agent.ambiguousLink));
  });

  it("marks what can't be known instead of guessing in silence", () => {
    const twice = [
      ...asks("t1", "worker", '{"task":"throw the die"}'),
      ...asks("t2", "worker", '{"task":"throw the die"}'),
    ];
    const [run] = callsToRuns(
      [
        call("boss", [user("Throw.")], { toolCalls: twice }, ["worker"]),
        call("worker", [user("throw the die")], { text: "four" }),
        call("worker", [user("throw the die")], { text: "four" }),
        call("boss", [user("Throw."), said("", twice), result("t1", "four"), result("t2", "four")], { text: "eight" }, [
          "worker",
        ]),
      ],
      "wire",
    );
    assert.deepEqual(
      run?.agents.map(({ ambiguousLink }) => ambiguousLink ?? false),
      [false, true, true],
    );
    assert.match(refusedForTraining(run!) ?? "", /ambiguous: .*2 of 3 agents/);
  });

  it("follows a pipeline, where each agent reads what the one before wrote", () => {
    const draft = "A long first draft about the sea and its ships.";
    const calls = [
      call("writer", [user("Write of the sea.")], { text: draft, runId: "r" }),
      call("editor", [user(`Improve this: ${draft}`)], { text: "Better.", runId: "r" }),
    ];
    const [run] = callsToRuns(calls, "wire");
    assert.equal(run?.agents[1]?.handoffFrom, "agent-1");
    assert.equal(run?.answer, "Better.");
  });

  it("counts a call that failed and was sent again once", () => {
    const runs = callsToRuns(
      [
        call("solo", [user("Hi there")], { error: "HTTP 500", outcome: "upstream-error" }),
        call("solo", [user("Hi there")], { text: "Hello." }),
      ],
      "wire",
    );
    assert.deepEqual(
      runs.map((run) => [run.agents.length, run.steps.length, run.answer]),
      [[1, 1, "Hello."]],
    );
  });

  it("puts the history in front that a server kept by response id", () => {
    const tool = asks("t1", "look");
    const [run] = callsToRuns(
      [
        call("solo", [user("What is there?")], { toolCalls: tool, responseId: "resp_1" }, ["look"]),
        call("solo", [result("t1", "a lamp")], { text: "A lamp.", previousResponseId: "resp_1" }, ["look"]),
      ],
      "wire",
    );
    assert.equal(run?.agents.length, 1);
    assert.deepEqual(
      run?.steps[1]?.input.map((key) => run.messages[key]?.role),
      ["system", "user", "assistant", "tool"],
    );
    assert.equal(run?.steps[0]?.toolCalls[0]?.result, "a lamp");
  });

  it("separates four identical tasks at the same time by run id, and marks links without one", async () => {
    const file = join(import.meta.dirname, "../../test/fixtures/traces/wire.aisdk.jsonl");
    const lines = (await readFile(file, "utf8")).trim().split("\n").slice(0, 12);
    const four = (named: boolean) =>
      [0, 1, 2, 3].flatMap((copy) =>
        lines.map((line, index): RecordedCall => {
          const own = line.replace(/(chatcmpl-|call_)(\d+)/g, (_all, kind, number) => `${kind}${copy}x${number}`);
          const { t, url, request, response } = JSON.parse(own);
          const times = { startedAt: t + copy, endedAt: t + copy, status: 200, outcome: "complete" as const };
          const rest = { contentType: "text/event-stream", request, response, ...(named && { runId: `task-${copy}` }) };
          return exchangeToCall({ version: 1, id: `${copy}-${index}`, path: url, ...times, ...rest })!;
        }),
      );
    const named = callsToRuns(four(true), "wire");
    assert.deepEqual(
      named.map((run) => [run.id, run.agents.length, run.steps.length]),
      [0, 1, 2, 3].map((copy) => [`task-${copy}`, 4, 12]),
    );
    assert.ok(named.every((run) => refusedForTraining(run) === null));
    const unnamed = callsToRuns(four(false), "wire");
    assert.equal(unnamed.flatMap((run) => run.agents).length, 16, "all threads are still apart");
    const ambiguous = unnamed.flatMap((run) => run.agents).filter((agent) => agent.ambiguousLink).length;
    assert.ok(ambiguous > 0, "identical tasks can't be told apart by content");
    assert.ok(unnamed.some((run) => refusedForTraining(run) !== null));
  });

  it("never gives a wrong link without marking it, however identical runs interleave", async () => {
    const file = join(import.meta.dirname, "../../test/fixtures/traces/wire.lg.jsonl");
    const lines = (await readFile(file, "utf8")).trim().split("\n").slice(0, 12);
    let state = 7;
    const random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
    let sure = 0;
    let marked = 0;
    for (let round = 0; round < 25; round++) {
      const calls = Array.from({ length: 6 }, (_, copy) => {
        let now = 1000 * random() * (round % 5);
        return lines.map((line, index): RecordedCall => {
          const own = line.replace(/(chatcmpl-|call_)(\d+)/g, (_all, kind, number) => `${kind}${copy}x${number}`);
          const { url, request, response } = JSON.parse(own);
          const startedAt = (now += 1 + random() * 50);
          const endedAt = (now += 1 + random() * 50);
          const times = { startedAt, endedAt, status: 200, outcome: "complete" as const };
          const rest = { contentType: "text/event-stream", request, response };
          return exchangeToCall({ version: 1, id: `${copy}-${index}`, path: url, ...times, ...rest })!;
        });
      }).flat();
      const copyOf = (id: string | undefined) => /(\d+)x/.exec(id ?? "")?.[1];
      for (const run of callsToRuns(calls, "wire")) {
        for (const agent of run.agents) {
          const own = copyOf(run.steps.find((step) => step.agentId === agent.id)?.responseId);
          if (agent.ambiguousLink) marked++;
          else if (agent.parentCallId) {
            sure++;
            assert.equal(copyOf(agent.parentCallId), own, `round ${round}`);
          }
        }
      }
    }
    assert.ok(sure > 50 && marked > 50, `${sure} sure, ${marked} marked`);
  });
});
