import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import type { TeamRun } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { trajectoryToSequence } from "../../dataset/trajectory-to-example.ts";
import type { OutcomeRecord } from "../../distill/distill-report.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import { type Done, readSettings } from "../command.ts";
import type { Output } from "../output.ts";
import distillRun from "./distill-run.ts";

const root = await mkdtemp(join(tmpdir(), "coa-distill-traces-"));
after(() => rm(root, { recursive: true, force: true }));
const traces = join(root, "traces");

/** A chat of several turns, each with one search. */
function session(id: string, turns: readonly [string, string][]): string {
  const messages = turns.flatMap(([question, answer], index) => [
    { role: "user", content: question },
    {
      role: "assistant",
      content: "",
      tool_calls: [
        {
          id: `${id}-${index}`,
          type: "function",
          function: { name: "web_search", arguments: JSON.stringify({ query: question }) },
        },
      ],
    },
    { role: "tool", tool_call_id: `${id}-${index}`, content: `It is ${answer}, says the handbook.` },
    { role: "assistant", content: answer },
  ]);
  return JSON.stringify({ id, messages });
}

const fixtures = join(import.meta.dirname, "../../../test/fixtures/traces");
await mkdir(traces);
for (const name of await readdir(fixtures))
  if (!name.startsWith("wire")) await cp(join(fixtures, name), join(traces, name));
await writeFile(join(traces, "settings.json"), '{"hello":1}');
await writeFile(
  join(traces, "chats.jsonl"),
  Array.from({ length: 12 }, (_, n) =>
    session(`chat-${n}`, [
      [`How many days of leave carry over in office number ${n} of the north?`, `${n + 1} days`],
      [`And who signs the form for that in building ${n * 7}?`, `Person ${n}`],
    ]),
  ).join("\n"),
);

async function run(args: Record<string, unknown>): Promise<{ code: number; json: Record<string, unknown> }> {
  const nothing = () => {};
  const out = { print: nothing, note: nothing, progress: nothing, endProgress: nothing, isTTY: false };
  const { set = [], ...flags } = args;
  const defaults = Object.fromEntries(
    Object.entries(distillRun.options ?? {}).flatMap(([name, { default: value }]: [string, { default?: unknown }]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const done = await distillRun.run({
    values: { ...defaults, ...flags } as never,
    settings: readSettings({ name: "distill run", ...distillRun }, { set: set as string[] }, {}),
    positionals: [traces],
    out: out as unknown as Output,
    signal: new AbortController().signal,
  } as never);
  const { code = 0, json } = done as Done;
  return { code, json: json as Record<string, unknown> };
}

describe("from a folder of traces to chains", () => {
  it("takes one command, knows earlier turns, and gives every run that is left out a reason", async () => {
    const out = join(root, "distilled");
    const { code, json } = await run({ out, "assume-right": true, set: ["distill.minInteractions=1"] });
    assert.equal(code, 0);
    const runs = await Array.fromAsync(readJsonl<TeamRun>(`${out}-imported.jsonl`));
    assert.deepEqual([...new Set(runs.map(({ source }) => source))].sort(), [
      "import:langsmith",
      "import:messages",
      "import:openai-agents",
      "import:otlp",
    ]);
    const langsmith = runs.filter(({ source }) => source === "import:langsmith");
    assert.deepEqual(
      langsmith.map(({ steps }) => steps.length),
      [12],
      "the parts of one trace in three files are one run",
    );
    const chains = await Array.fromAsync(readJsonl(join(out, "trajectories.jsonl"), trajectorySchema));
    const outcomes = await Array.fromAsync(readJsonl<OutcomeRecord>(join(out, "outcomes.jsonl")));
    const leftOut = outcomes.filter(({ stage }) => stage !== null);
    assert.ok(leftOut.every(({ stage, reason }) => stage !== "" && reason !== ""));
    assert.deepEqual(
      new Set([...chains.map(({ source }) => source!.id!.replace(/#\d+$/, "")), ...leftOut.map(({ id }) => id)]),
      new Set(runs.map(({ id }) => id)),
      "each run is a chain or has its reason",
    );
    const unreadable = json["unreadable"] as { file: string }[];
    assert.ok(unreadable.some(({ file }) => file.endsWith("settings.json")));

    const second = chains.find(({ id }) => id === "distilled-chat-3.2") as Trajectory;
    assert.match(second.prompt.map(({ content }) => content).join("\n"), /office number 3.*4 days.*building 21/s);
    const tokenizer = trainTokenizer([], { vocabularySize: 400 });
    const { sequence } = trajectoryToSequence(second, tokenizer);
    const trained = sequence!.spans.flatMap(([start, end, weight]) =>
      weight === 0 ? [] : sequence!.tokens.slice(start, end),
    );
    const text = tokenizer.decode(trained);
    assert.match(text, /Person 3/);
    assert.doesNotMatch(text, /4 days|handbook/, "earlier turns and observations are not trained");
    assert.doesNotMatch(await readFile(join(out, "trajectories.jsonl"), "utf8"), /double_check|"filled":true/);
  });
});
