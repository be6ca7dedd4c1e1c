import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { streamType, writeRequest } from "../../test/fixtures/wire-requests.ts";
import { wireApis } from "../base/wire/apis.ts";
import { writeEvents, writeReply } from "../base/wire/reply-writer.ts";
import { frameEvent, type WireApi, type WireReply } from "../base/wire/wire-api.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamRun } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall, type WireExchange } from "./wire-exchange.ts";

/** Random teams, written as the traffic of each API and read back: the run must be the team. */

interface TrueAgent {
  name: string;
  calls: number;
  report: string;
}
interface Truth {
  agents: TrueAgent[];
  answer: string;
  question: string;
  tools: [name: string, args: string, result: string][];
  promptTokens: number;
  completionTokens: number;
}

const words = "alpha bêta gamma 漢字 delta ε zeta η theta 😀 kappa".split(" ");

function randomTeam(api: WireApi, seed: number, stream: boolean): { exchanges: WireExchange[]; truth: Truth } {
  const random = seededRandom(seed);
  const below = (count: number) => Math.floor(random.next() * count);
  let serial = 0;
  const text = () => `${Array.from({ length: 3 + below(5) }, () => words[below(words.length)]).join(" ")} ${++serial}`;
  const exchanges: WireExchange[] = [];
  const truth: Truth = { agents: [], answer: "", question: text(), tools: [], promptTokens: 0, completionTokens: 0 };
  let clock = 1000;

  const say = (messages: Message[], tools: string[], reply: WireReply) => {
    const usage = { promptTokens: messages.length * 10, completionTokens: 5 + below(9) };
    truth.promptTokens += usage.promptTokens;
    truth.completionTokens += usage.completionTokens;
    const whole: WireReply = { ...reply, finished: true, usage, responseId: `r${serial}-${exchanges.length}` };
    const offered = tools.map((name) => ({
      name,
      description: `does ${name}`,
      parameters: { type: "object", properties: { task: { type: "string" } } },
    }));
    const { path, body } = writeRequest(api, { model: "m", messages, tools: offered, stream, temperature: 0.5 });
    const pieces = reply.text.split(/(?<= )/);
    exchanges.push({
      version: 1,
      id: `e${exchanges.length}`,
      path,
      startedAt: clock++,
      endedAt: clock++,
      status: 200,
      outcome: "complete",
      request: JSON.parse(JSON.stringify(body)) as unknown,
      contentType: stream ? streamType(api) : "application/json",
      response: stream
        ? writeEvents(api, whole, pieces)
            .map((event) => frameEvent(api, event))
            .join("")
        : JSON.stringify(writeReply(api, whole)),
    });
  };

  const agent = (name: string, task: string, depth: number): string => {
    const me: TrueAgent = { name, calls: 0, report: "" };
    truth.agents.push(me);
    const messages: Message[] = [
      { role: "system", content: `You are the ${name}. ${text()}` },
      { role: "user", content: task },
    ];
    const helpers = depth === 0 ? ["searcher", "coder"] : [];
    const tools = [...helpers, "look_up"];
    const rounds = depth === 0 ? 1 + below(3) : below(3);
    for (let round = 0; round < rounds; round++) {
      const toolCalls: ToolCall[] = Array.from({ length: 1 + below(2) }, () => ({
        id: `call_${++serial}`,
        name: tools[below(tools.length)]!,
        arguments: JSON.stringify({ task: text() }),
      }));
      const said = below(2) === 0 ? text() : "";
      const reasoning = below(2) === 0 ? text() : undefined;
      say(messages, tools, {
        text: said,
        ...(reasoning && { reasoning }),
        toolCalls,
        finish: "tool_calls",
        finished: true,
      });
      me.calls++;
      messages.push({ role: "assistant", content: said, ...(reasoning && { reasoning }), toolCalls });
      const results = toolCalls.map((call) => {
        const { task: given } = JSON.parse(call.arguments) as { task: string };
        const result = helpers.includes(call.name) ? agent(call.name, given, depth + 1) : `found ${text()}`;
        truth.tools.push([call.name, call.arguments, result]);
        return { role: "tool" as const, content: result, toolCallId: call.id };
      });
      messages.push(...results);
    }
    const report = `Report: ${text()}`;
    say(messages, tools, { text: report, toolCalls: [], finish: "stop", finished: true });
    me.calls++;
    me.report = report;
    return report;
  };
  truth.answer = agent("manager", truth.question, 0);
  return { exchanges, truth };
}

function whatWasRead(run: TeamRun): Truth {
  return {
    agents: run.agents.map(({ id, name, report = "" }) => ({
      name,
      calls: run.steps.filter((step) => step.agentId === id).length,
      report,
    })),
    answer: run.answer ?? "",
    question: run.question,
    tools: run.steps.flatMap((step) =>
      step.toolCalls.map((call): Truth["tools"][number] => [call.name, call.arguments, call.result ?? "nothing"]),
    ),
    promptTokens: run.usage.promptTokens,
    completionTokens: run.usage.completionTokens,
  };
}

const sorted = (truth: Truth): Truth => ({ ...truth, tools: truth.tools.toSorted() });

describe("random teams through the wire and back", () => {
  for (const api of wireApis) {
    if (/completions$|generate$/.test(api.name)) continue; // no tools: no teams
    for (const stream of [false, true]) {
      it(`${api.name}, ${stream ? "streamed" : "whole"}`, () => {
        for (let seed = 1; seed <= 40; seed++) {
          const { exchanges, truth } = randomTeam(api, seed, stream);
          const calls = exchanges.map((exchange) => exchangeToCall(exchange)!);
          assert.ok(calls.every(Boolean));
          const runs = callsToRuns(calls, "wire");
          assert.equal(runs.length, 1, `seed ${seed}: ${runs.length} runs`);
          const [run] = runs;
          assert.deepEqual(sorted(whatWasRead(run!)), sorted(truth), `seed ${seed}`);
          assert.equal(refusedForTraining(run!), null, `seed ${seed}`);
          assert.equal(run!.completeness.toolSchemas && run!.completeness.toolCallIds, true);
          assert.equal(run!.steps[0]?.settings?.["temperature"], 0.5);
          assert.ok(run!.agents.slice(1).every((agent) => agent.parentCallId));
        }
      });

      it(`${api.name}, ${stream ? "streamed" : "whole"}: four teams at once, kept apart by run id`, () => {
        const teams = [11, 12, 13, 14].map((seed) => randomTeam(api, seed, stream));
        const calls = teams.flatMap(({ exchanges }, team) =>
          exchanges.map(
            (exchange) => exchangeToCall({ ...exchange, runId: `run${team}`, id: `${team}${exchange.id}` })!,
          ),
        );
        const runs = callsToRuns(calls, "wire");
        assert.equal(runs.length, 4);
        for (const run of runs) {
          const { truth } = teams[Number(run.id.slice(3))]!;
          assert.deepEqual(sorted(whatWasRead(run)), sorted(truth));
        }
      });
    }
  }

  it("reads a reply of the APIs without tools", () => {
    for (const api of wireApis.filter(({ name }) => /completions$|generate$/.test(name))) {
      for (const stream of [false, true]) {
        const reply: WireReply = {
          text: "Lyon, of course.",
          toolCalls: [],
          finish: "stop",
          finished: true,
          usage: { promptTokens: 7, completionTokens: 4 },
        };
        const { path, body } = writeRequest(api, {
          model: "m",
          messages: [{ role: "user", content: "Where does Ada live?" }],
          tools: [],
          stream,
        });
        const response = stream
          ? writeEvents(api, reply, ["Lyon, ", "of course."])
              .map((event) => frameEvent(api, event))
              .join("")
          : JSON.stringify(writeReply(api, reply));
        const call = exchangeToCall({
          version: 1,
          id: "1",
          path,
          startedAt: 1,
          endedAt: 2,
          status: 200,
          outcome: "complete",
          request: body,
          contentType: stream ? streamType(api) : "application/json",
          response,
        })!;
        assert.equal(call.text, reply.text, api.name);
        assert.equal(call.promptTokens, 7);
        assert.equal(call.finish, "stop");
        assert.equal(call.messages.at(-1)?.content, "Where does Ada live?");
      }
    }
  });
});
