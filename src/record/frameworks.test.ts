import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseJson } from "../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { readOtlp } from "./formats/otlp-spans.ts";
import { otlpToSpans } from "./formats/otlp-to-spans.ts";
import { importFiles } from "./import-file.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { summariseRun } from "./run-summary.ts";
import { traceGroups } from "./spans-to-runs.ts";
import { refusedForTraining } from "./trainable.ts";
import { exchangeToCall } from "./wire-exchange.ts";

const folder = join(import.meta.dirname, "../../test/fixtures/traces");
const at = (name: string) => join(folder, name);

/** Written by hand from the task that all five frameworks were given. */
const page =
  "Hubble Space Telescope. The Hubble Space Telescope was launched into low Earth orbit in 1990 aboard Space Shuttle Discovery (STS-31) and remains in operation. It features a 2.4 m mirror, and its five main instruments observe in ultraviolet, visible and near-infrared regions. ";
const found =
  'Result 1: "Pillars of Creation" - photograph taken by the Hubble Space Telescope on 1 April 1995. https://example.org/pillars  Result 2: Hubble history. https://example.org/hubble';
const report =
  "The image was taken by the Hubble Space Telescope, launched in 1990 (source: https://example.org/hubble).";
const search = [
  ["web_search", { query: "Pillars of Creation image telescope" }, found],
  ["crawl_page", { url: "https://example.org/hubble", query: "launch year" }, page.repeat(4)],
] as const;
interface Expected {
  name: string;
  modelCalls: number;
  tools: readonly (readonly [name: string, input: string | object, output: string])[];
}
const expected: readonly Expected[] = [
  {
    name: "manager",
    modelCalls: 4,
    tools: [
      ["search_agent", "Find which telescope took the Pillars of Creation image and its launch year.", report],
      ["code_agent", "Compute 1990*3-17.", "The result is 5953."],
      ["search_agent", "Verify: launch year of the Hubble Space Telescope is 1990.", report],
    ],
  },
  { name: "search_agent", modelCalls: 3, tools: search },
  { name: "code_agent", modelCalls: 2, tools: [["run_code", { code: "console.log(1990*3-17)" }, "5953"]] },
  { name: "search_agent", modelCalls: 3, tools: search },
];
const answer = "The Hubble Space Telescope was launched in 1990; 1990*3-17 = 5953. Answer: 1990, 5953.";
const question =
  "In which year was the telescope that took the Pillars of Creation image launched, and what is that year times 3 minus 17?";

/** Holds a run against the expectation; frameworks differ only in how they dress up a delegation and its report. */
function checkTree(run: TeamRun, { content = true } = {}): void {
  assert.ok(teamRunSchema.safeParse(run).success);
  assert.deepEqual(
    run.agents.map((agent) => agent.name),
    expected.map((agent) => agent.name),
  );
  assert.equal(run.topology, "agents-as-tools");
  assert.equal(run.steps.length, 12);
  assert.equal(summariseRun(run).delegations.length, 3);
  assert.deepEqual(
    summariseRun(run).delegations.map(({ from }) => from),
    ["manager", "manager", "manager"],
  );
  assert.equal(summariseRun(run).ambiguousLinks, 0);
  for (const [index, want] of expected.entries()) {
    const agent = run.agents[index]!;
    const steps = run.steps.filter((step) => step.agentId === agent.id);
    assert.equal(steps.length, want.modelCalls, agent.name);
    const calls = steps.flatMap((step) => step.toolCalls);
    assert.deepEqual(
      calls.map((call) => call.name.replace(/^agent-/, "")),
      want.tools.map(([name]) => name),
    );
    if (!content) continue;
    for (const [position, call] of calls.entries()) {
      const [, input, output] = want.tools[position]!;
      const given = parseJson(call.arguments) as Record<string, unknown>;
      if (typeof input === "string") assert.ok(Object.values(given).includes(input), call.arguments);
      else assert.deepEqual(given, input);
      if (typeof input === "string") assert.ok(call.result?.endsWith(output), String(call.result));
      else assert.equal(call.result, output);
    }
    if (index > 0) {
      const parent = run.steps.flatMap((step) => step.toolCalls).find((call) => call.id === agent.parentCallId);
      assert.equal(parent?.delegatesTo, agent.id);
      assert.equal(
        parent?.arguments,
        run.steps.filter((step) => step.agentId === "agent-1")[index - 1]?.toolCalls[0]?.arguments,
      );
    }
  }
  // Usage a second way: the sum over the steps.
  assert.equal(
    run.usage.billedTokens,
    run.steps.reduce((sum, step) => sum + step.promptTokens + step.completionTokens, 0),
  );
  assert.equal(run.usage.modelCalls, 12);
  if (!content) return;
  assert.ok(run.answer?.endsWith(answer), String(run.answer));
  assert.ok(run.question.endsWith(question), run.question);
  for (const step of run.steps) for (const key of step.input) assert.ok(run.messages[key], "a message by its hash");
}

describe("runs of five frameworks", () => {
  for (const name of ["aisdk", "oai", "lg", "mastra", "ax"]) {
    it(`finds both runs and 3 of 3 links in the wire traffic of ${name} alone`, async () => {
      const runs = await importFiles([at(`wire.${name}.jsonl`)]);
      assert.equal(runs.length, 2);
      for (const run of runs) {
        checkTree(run);
        assert.equal(refusedForTraining(run), null);
        assert.deepEqual(run.completeness, {
          toolSchemas: true,
          toolCallIds: true,
          content: true,
          truncated: false,
          notes: [],
          inferred: ["run", "links"],
        });
      }
    });
  }

  const traces: [string, string[], { toolSchemas: boolean; tokens: number }][] = [
    ["AI SDK", ["ai-sdk-7.genai.otlp.json"], { toolSchemas: true, tokens: 4713 }],
    ["Mastra", ["mastra.otlp.json"], { toolSchemas: false, tokens: 7421 }],
    ["LangGraph with OpenInference", ["langgraph.openinference.otlp.json"], { toolSchemas: true, tokens: 4704 }],
    [
      "LangSmith",
      ["006", "007", "008"].map((part) => `langsmith.runs-batch.${part}.json`),
      { toolSchemas: true, tokens: 4698 },
    ],
    ["OpenAI Agents", ["openai-agents.agents-as-tools.ingest.json"], { toolSchemas: false, tokens: 5285 }],
  ];
  for (const [name, files, { toolSchemas, tokens }] of traces) {
    it(`reads the same tree from the traces of ${name}`, async () => {
      const runs = await importFiles(files.map(at));
      assert.equal(runs.length, 1);
      const run = runs[0]!;
      checkTree(run);
      assert.equal(run.completeness.toolSchemas, toolSchemas);
      assert.equal(run.usage.billedTokens, tokens);
      assert.equal(refusedForTraining(run), null);
    });
  }

  it("counts OpenAI Agents' tokens once, though turns and tasks repeat those of the agents below them", async () => {
    const text = await readFile(at("openai-agents.agents-as-tools.ingest.json"), "utf8");
    const stated = [...text.matchAll(/"input_tokens":(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
    const [run] = await importFiles([at("openai-agents.agents-as-tools.ingest.json")]);
    assert.ok(stated > 2 * run!.usage.promptTokens, `${stated} in all spans`);
    const root = /"name":"coa-demo","usage":\{"input_tokens":(\d+)/.exec(text.replace(/\s*([:,{}])\s*/g, "$1"))?.[1];
    assert.equal(run!.usage.promptTokens, Number(root));
  });

  it("refuses Ax's spans for training, since they hold no content, but reads the tree", async () => {
    const [run] = await importFiles([at("ax.otlp.json")]);
    assert.equal(run?.completeness.content, false);
    assert.match(refusedForTraining(run!) ?? "", /no-content/);
    checkTree(
      { ...run!, agents: run!.agents.map((agent, index) => (index === 0 ? { ...agent, name: "manager" } : agent)) },
      { content: false },
    );
  });

  it("joins Ax's spans with the wire by response id: tree from the spans, content from the wire", async () => {
    const spans = otlpToSpans(readOtlp(parseJson(await readFile(at("ax.otlp.json"), "utf8"))));
    // The two were captured in different runs of the same program: the numbers of the ids are 302 apart.
    const lines = (await readFile(at("wire.ax.jsonl"), "utf8")).trim().split("\n").slice(0, 12);
    const calls = lines.map((line, index): RecordedCall => {
      const moved = line.replace(/(chatcmpl-|call_)(\d+)/g, (_all, kind, number) => `${kind}${Number(number) - 302}`);
      const { t, url, request, response } = JSON.parse(moved);
      const times = { startedAt: t, endedAt: t, status: 200, outcome: "complete" as const };
      return exchangeToCall({
        version: 1,
        id: `c${index}`,
        path: url,
        ...times,
        request,
        contentType: "text/event-stream",
        response,
      })!;
    });
    const wire = new Set(calls);
    const run = traceGroups(spans, "collector", wire)[0]?.runs[0];
    assert.equal(wire.size, 0, "every call found its span");
    assert.equal(run?.source, "collector+wire");
    checkTree(run!);
    assert.equal(refusedForTraining(run!), null);
    // The same run twice is counted once.
    assert.equal(run?.usage.billedTokens, callsToRuns(calls, "wire")[0]?.usage.billedTokens);
  });
});
