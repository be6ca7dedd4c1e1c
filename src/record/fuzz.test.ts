import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { testSize } from "../../test/fixtures/test-size.ts";
import { wireApis } from "../base/wire/apis.ts";
import { CoaError } from "../core/errors.ts";
import { asObject } from "../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { startCollector } from "./collector/start-collector.ts";
import { langfuseToSpans } from "./formats/langfuse.ts";
import { messagesToRuns } from "./formats/message-files.ts";
import { oagentsToRun } from "./formats/oagents.ts";
import { smolagentsToRun } from "./formats/smolagents.ts";
import { readAnswer } from "./read-answer.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { readRecordings } from "./recordings.ts";
import { traceGroups } from "./spans-to-runs.ts";
import { exchangeToCall } from "./wire-exchange.ts";

const rounds = testSize(60, 300);
const folder = await mkdtemp(join(tmpdir(), "coa-fuzz-"));
after(() => rm(folder, { recursive: true, force: true }));

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const strange: unknown[] = [
  null,
  undefined,
  0,
  -1,
  Number.NaN,
  "",
  "x".repeat(5000),
  true,
  [],
  {},
  [[]],
  { a: { b: [] } },
  "\u0000",
  "\ud800",
  "__proto__",
  1e308,
  "[]",
  '{"',
  [null],
];

/** Changes some places of a JSON value: other types, missing fields, doubled and swapped items, cut texts. */
function mutate(value: unknown, random: () => number, rate: number): unknown {
  if (random() < rate) return strange[Math.floor(random() * strange.length)];
  if (typeof value === "string" && random() < rate) return value.slice(0, Math.floor(random() * value.length));
  if (Array.isArray(value)) {
    const items = value.filter(() => random() >= rate / 2).map((item) => mutate(item, random, rate));
    return random() < rate && items.length > 0 ? [...items, items[Math.floor(random() * items.length)]] : items;
  }
  const object = asObject(value);
  if (!object) return value;
  const entries = Object.entries(object)
    .filter(() => random() >= rate / 2)
    .map(([key, inner]) => [random() < rate / 4 ? "id" : key, mutate(inner, random, rate)]);
  return Object.fromEntries(entries);
}

const fixture = async (name: string) => readFile(join(import.meta.dirname, "../../test/fixtures/traces", name), "utf8");

function checkRuns(runs: readonly TeamRun[]): void {
  for (const run of runs) {
    const parsed = teamRunSchema.safeParse(JSON.parse(JSON.stringify(run)));
    assert.ok(parsed.success, JSON.stringify(parsed.error?.issues.slice(0, 2)));
    const agents = new Set(run.agents.map((agent) => agent.id));
    for (const step of run.steps) assert.ok(agents.has(step.agentId), "every step has its agent");
  }
}

describe("hostile recordings", () => {
  it("collector: every mutated payload is taken or refused with 4xx and a reason, and what is taken can be read", async () => {
    const random = seeded(1);
    const problems: string[] = [];
    const collector = await startCollector({ folder, onProblem: (text) => problems.push(text) });
    const sources: [string, string][] = [
      ["/v1/traces", await fixture("ai-sdk-7.genai.otlp.json")],
      ["/v1/traces", await fixture("mastra.otlp.json")],
      ["/v1/traces", await fixture("ax.otlp.json")],
      ["/runs/batch", await fixture("langsmith.runs-batch.008.json")],
      ["/v1/traces/ingest", await fixture("openai-agents.agents-as-tools.ingest.json")],
    ];
    let taken = 0;
    for (let round = 0; round < rounds; round++) {
      const [path, text] = sources[round % sources.length]!;
      const body = JSON.stringify(mutate(JSON.parse(text), random, [0.0005, 0.003, 0.03][round % 3]!));
      const response = await fetch(collector.url + path, { method: "POST", body: body ?? "null" });
      const said = await response.text();
      if (response.ok) taken++;
      else {
        assert.ok(response.status >= 400 && response.status < 500, `${response.status} ${said}`);
        assert.ok((JSON.parse(said) as { error: string }).error.length > 5);
      }
    }
    await collector.close();
    assert.deepEqual(problems, []);
    assert.ok(taken > rounds / 10 && taken < rounds, `${taken} of ${rounds} taken`);
    checkRuns(await readRecordings(folder));
  });

  it("wire: any body and any answer becomes a call, any calls become runs", async () => {
    const random = seeded(2);
    const lines = (await fixture("wire.mastra.jsonl")).trim().split("\n").slice(0, 12);
    for (let round = 0; round < rounds; round++) {
      const calls = lines.flatMap((line, index): RecordedCall[] => {
        const { t, url, request, response } = JSON.parse(line);
        const cut =
          random() < 0.1 ? String(response).slice(0, Math.floor(random() * String(response).length)) : String(response);
        const call = exchangeToCall({
          version: 1,
          id: `c${index}`,
          path: url,
          startedAt: t,
          endedAt: t,
          status: random() < 0.05 ? 500 : 200,
          outcome: "complete",
          request: mutate(request, random, 0.01),
          contentType: "text/event-stream",
          response: cut,
        });
        return call ? [call] : [];
      });
      checkRuns(callsToRuns(calls, "fuzz"));
    }
    for (const text of [
      "",
      "null",
      "[]",
      "data: {",
      "data: null\n\n",
      'data: {"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]}\n\n',
      "\u0000",
    ]) {
      for (const api of wireApis) assert.equal(typeof readAnswer(api, text).text, "string");
    }
  });

  it("importers: mutated files give runs or an error that says why", () => {
    const random = seeded(3);
    const memory = [
      { task: "t" },
      { plan: "p" },
      {
        step_number: 1,
        model_output: "m",
        tool_calls: [{ id: "1", function: { name: "f", arguments: {} } }],
        observations: "o",
        is_final_answer: true,
        action_output: 4,
      },
    ];
    const oagents = {
      question: "q",
      task_id: "1",
      intermediate_steps: [
        {
          step_type: "action",
          model_output: "x",
          tool_calls: [{ id: "1", function: { name: "python_interpreter", arguments: "search_agent('find')" } }],
        },
      ],
      search_agent_actions: { find: { answer: "a", tool_calls: [{ name: "s", args: {}, observation: "o" }] } },
      prediction: "p",
    };
    const chat = {
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: "a", tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "1", content: "r" },
      ],
    };
    const langfuse = {
      id: "t",
      observations: [
        { id: "g", type: "GENERATION", input: chat.messages, output: { content: "x" }, usageDetails: { input: 1 } },
        { id: "o", type: "TOOL", parentObservationId: "g", name: "f", output: "r" },
      ],
    };
    const readers: [unknown, (value: unknown) => TeamRun[]][] = [
      [memory, (value) => [smolagentsToRun(value, "x")]],
      [oagents, (value) => [oagentsToRun(asObject(value) ?? {}, "x")]],
      [chat, (value) => messagesToRuns(asObject(value) ?? {}, "x")],
      [langfuse, (value) => traceGroups(langfuseToSpans([asObject(value) ?? {}]), "fuzz").flatMap(({ runs }) => runs)],
    ];
    for (let round = 0; round < rounds * 20; round++) {
      const [seed, read] = readers[round % readers.length]!;
      const value = mutate(structuredClone(seed), random, 0.08);
      try {
        checkRuns(read(value));
      } catch (error) {
        if (!(error instanceof CoaError)) throw new Error(`${JSON.stringify(value)}`, { cause: error });
      }
    }
  });
});
