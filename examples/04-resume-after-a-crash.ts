/** A journal makes a chain durable: what was finished before a crash is not done again. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChainRecord, defineTask, mhqaProfile, runChain } from "chain-of-agents";
import { chainRecordSchema, jsonlJournal } from "chain-of-agents/files";
import { scriptedModel, tableTool } from "chain-of-agents/testing";

const folder = await mkdtemp(join(tmpdir(), "coa-example-"));
const task = defineTask({ id: "peaks", question: "Which is higher, Mont Blanc or Elbrus?" });
const tool = tableTool({ "Mont Blanc": "4,806 m", Elbrus: "5,642 m" }, "wiki_search");
const first = "<think>One.</think><wiki_search>Mont Blanc</wiki_search>";
const rest = ["<think>Two.</think><wiki_search>Elbrus</wiki_search>", "<think>Compare.</think><answer>Elbrus</answer>"];

try {
  const open = () => jsonlJournal<ChainRecord>(join(folder, "chain.jsonl"), chainRecordSchema);

  const before = await open();
  const crashing = scriptedModel([first, new Error("the power is gone")]);
  const broken = await runChain(task, { model: crashing, tools: [tool], profile: mhqaProfile, journal: before });
  await before.close();
  console.log(`first try: ${broken.ending.reason} (${broken.ending.detail})`);

  const after = await open();
  const model = scriptedModel(rest);
  const trajectory = await runChain(task, { model, tools: [tool], profile: mhqaProfile, journal: after });
  await after.close();
  console.log(
    `second try: ${trajectory.answer}, with ${model.requests.length} more model calls; tool calls: ${tool.calls.join(", ")}`,
  );

  assert.equal(trajectory.answer, "Elbrus");
  assert.deepEqual(tool.calls, ["Mont Blanc", "Elbrus"]);
  assert.equal(trajectory.usage.modelCalls, 3);
} finally {
  await rm(folder, { recursive: true, force: true });
}
