import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeRequest } from "../../test/fixtures/wire-requests.ts";
import { wireApis } from "../base/wire/apis.ts";
import { writeReply } from "../base/wire/reply-writer.ts";
import type { WireApi, WireReply, WireRequest } from "../base/wire/wire-api.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Message, ToolCall } from "../core/message.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall } from "./wire-exchange.ts";

/** Random flows wired in code, written as the traffic of each API and read back: the run must be the flow. */

interface TrueStep {
  name: string;
  /** The steps whose replies its prompt quotes. */
  reads: number[];
  text: string;
}

/** Layers of one to three agents; each reads all replies of the layer before, the first reads the question. */
function randomFlow(api: WireApi, seed: number): { calls: RecordedCall[]; steps: TrueStep[]; question: string } {
  const random = seededRandom(seed);
  const below = (count: number) => Math.floor(random.next() * count);
  const question = `Question ${seed}: how many stones lie at place ${below(1e6)}?`;
  const steps: TrueStep[] = [];
  const calls: RecordedCall[] = [];
  const sizes = [1 + below(3), ...Array.from({ length: below(4) }, () => 1 + below(3)), 1];
  let before: number[] = [];
  for (const [layer, size] of sizes.entries()) {
    const own: number[] = [];
    for (let index = 0; index < size; index++) {
      const at = steps.length;
      const name = `worker_${layer}_${index}`;
      const text = `Worker ${layer} ${index} of flow ${seed} found ${below(1e9)} of them.`;
      const prompt = layer === 0 ? question : before.map((one) => `Given: ${steps[one]!.text}`).join("\n\n");
      const messages = [
        { role: "system" as const, content: `You are the ${name}. Do your part.` },
        { role: "user" as const, content: prompt },
      ];
      const reply = { text, toolCalls: [], finish: "stop" as const, finished: true };
      const request = { model: "m", messages, tools: [], stream: false };
      calls.push(sent(api, request, reply, `${seed}-${at}`, 1000 * layer + index));
      steps.push({ name, reads: layer === 0 ? [] : before, text });
      own.push(at);
    }
    before = own;
  }
  return { calls, steps, question };
}

/** One exchange of an API, read back as a recorder's call. */
function sent(api: WireApi, request: WireRequest, reply: WireReply, id: string, startedAt: number): RecordedCall {
  const { path, body } = writeRequest(api, request);
  const usage = { promptTokens: 9, completionTokens: 9 };
  return exchangeToCall({
    version: 1,
    id,
    path,
    startedAt,
    endedAt: startedAt + 5,
    status: 200,
    outcome: "complete",
    request: JSON.parse(JSON.stringify(body)),
    contentType: "application/json",
    response: JSON.stringify(writeReply(api, { ...reply, responseId: `r${id}`, usage })),
  })!;
}

interface TrueAgent {
  name: string;
  /** Who called it. */
  by: string;
  tools: string[];
  report: string;
}

/** A team of up to three levels whose agents call each other, and plain tools, by tool calls, also several at once. */
function randomTeam(api: WireApi, seed: number): { calls: RecordedCall[]; agents: TrueAgent[]; question: string } {
  const random = seededRandom("team", seed);
  const below = (count: number) => Math.floor(random.next() * count);
  const question = `Question ${seed}: how many stones lie at place ${below(1e6)}?`;
  const agents: TrueAgent[] = [];
  const calls: RecordedCall[] = [];
  // Flows that run at once differ in their pace.
  const pace = 10 + below(20);
  let now = seed;
  const ask = (request: WireRequest, text: string, toolCalls: ToolCall[]) => {
    now += pace;
    const finish = toolCalls.length > 0 ? ("tool_calls" as const) : ("stop" as const);
    calls.push(sent(api, request, { text, toolCalls, finish, finished: true }, `t${seed}-${calls.length}`, now));
  };
  const work = (name: string, by: string, task: string, level: number): string => {
    const report = `The ${name} of team ${seed} found ${below(1e9)} of them in all.`;
    const agent: TrueAgent = { name, by, tools: [], report };
    agents.push(agent);
    const helpers = level < 2 ? [0, 1].map((index) => `helper_${level}_${agents.length}_${index}`) : [];
    const tools = ["look_up", ...helpers].map((tool) => ({ name: tool, parameters: { type: "object" } }));
    const messages: Message[] = [
      { role: "system", content: `You are the ${name}. Do your part.` },
      { role: "user", content: task },
    ];
    const request = () => ({ model: "m", messages: [...messages], tools, stream: false });
    for (let round = below(3) + (level === 0 ? 1 : 0); round > 0; round--) {
      const wanted = [...helpers, "look_up"].filter(() => below(2) === 0);
      if (wanted.length === 0) continue;
      const asked = wanted.map((tool, index): ToolCall => {
        const place = `${seed}-${agents.length}-${calls.length}-${index}`;
        const input =
          tool === "look_up" ? { key: place } : { task: `Count the stones of part ${place} for team ${seed}.` };
        return { id: `call_${place.replaceAll("-", "_")}`, name: tool, arguments: JSON.stringify(input) };
      });
      ask(request(), `I ask for part ${calls.length} of ${seed}.`, asked);
      messages.push({ role: "assistant", content: `I ask for part ${calls.length - 1} of ${seed}.`, toolCalls: asked });
      for (const tool of asked) {
        const input = JSON.parse(tool.arguments) as { task?: string };
        agent.tools.push(tool.name);
        const result = input.task === undefined ? `value ${below(1e9)}` : work(tool.name, name, input.task, level + 1);
        messages.push({ role: "tool", content: result, toolCallId: tool.id });
      }
    }
    ask(request(), report, []);
    return report;
  };
  work("manager", "", question, 0);
  return { calls, agents, question };
}

describe("random teams through the wire and back", () => {
  for (const api of wireApis.filter(({ name }) => !/completions$|generate$/.test(name))) {
    it(`${api.name}: one and eight at once`, () => {
      for (let seed = 1; seed <= 24; seed += 8) {
        const teams = Array.from({ length: 8 }, (_, index) => randomTeam(api, seed + index));
        for (const group of [...teams.map((team) => [team]), teams]) {
          const runs = callsToRuns(
            group.flatMap(({ calls }) => calls),
            "wire",
          );
          assert.equal(runs.length, group.length, `seed ${seed}`);
          for (const { agents, question, calls } of group) {
            const run = runs.find((one) => one.question === question)!;
            assert.equal(refusedForTraining(run), null);
            assert.equal(run.answer, agents[0]!.report);
            assert.equal(run.steps.length, calls.length);
            const caller = new Map(run.steps.flatMap((step) => step.toolCalls.map(({ id }) => [id, step.agentId])));
            const nameOf = new Map(run.agents.map(({ id, name }) => [id, name]));
            const found = run.agents.map(({ id, name, parentCallId, report = "" }) => {
              const own = run.steps.filter(({ agentId }) => agentId === id).flatMap(({ toolCalls }) => toolCalls);
              const by = parentCallId === undefined ? "" : nameOf.get(caller.get(parentCallId)!)!;
              return { name, by, tools: own.map((tool) => tool.name), report };
            });
            const sorted = (list: TrueAgent[]) => list.map((one) => JSON.stringify(one)).toSorted();
            assert.deepEqual(sorted(found), sorted(agents));
          }
        }
      }
    });
  }
});

describe("random flows through the wire and back", () => {
  for (const api of wireApis.filter(({ name }) => !/completions$|generate$/.test(name))) {
    it(`${api.name}: one and eight at once`, () => {
      for (let seed = 1; seed <= 24; seed += 8) {
        const flows = Array.from({ length: 8 }, (_, index) => randomFlow(api, seed + index));
        const groups = [...flows.map((flow) => [flow]), flows];
        for (const group of groups) {
          const runs = callsToRuns(
            group.flatMap(({ calls }) => calls),
            "wire",
          );
          assert.equal(runs.length, group.length, `seed ${seed}`);
          for (const { steps, question } of group) {
            const run = runs.find((one) => one.question === question)!;
            assert.equal(refusedForTraining(run), null);
            assert.equal(run.answer, steps.at(-1)!.text);
            const nameOf = new Map(run.agents.map(({ id, name }) => [id, name]));
            const read = run.agents.map(({ name, handoffFrom, joins = [] }) => [
              name,
              [...(handoffFrom === undefined ? [] : [handoffFrom]), ...joins].map((id) => nameOf.get(id)).sort(),
            ]);
            assert.deepEqual(
              read.toSorted(),
              steps.map(({ name, reads }) => [name, reads.map((at) => steps[at]!.name).sort()]).toSorted(),
            );
          }
        }
      }
    });
  }
});
