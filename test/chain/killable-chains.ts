/** Runs a batch of chains with a journal in the given folder; made to be killed and started again. Not a test itself. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { jsonlJournal } from "../../src/base/files/open-jsonl.ts";
import { runChains } from "../../src/chain/run-chains.ts";
import { chainRecordSchema } from "../../src/core/chain-record.ts";
import { defineTask } from "../../src/core/task.ts";
import { defineTool } from "../../src/core/tool.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { scriptedModel } from "../../src/testing/index.ts";

const folder = process.argv[2]!;
const journal = await jsonlJournal(join(folder, "journal.jsonl"), chainRecordSchema, { onBad: () => {} });
const tasks = Array.from({ length: 20 }, (_, index) => defineTask({ id: `t${index}`, question: `question ${index}` }));
const model = scriptedModel(({ text, prompt }) => {
  const step = text.split("</observation>").length - 1;
  const question = prompt.at(-1)!.content;
  return step < 3
    ? `<think>t</think><wiki_search>${question} step ${step}</wiki_search>`
    : "<think>t</think><answer>done</answer>";
});
const search = defineTool({
  name: "wiki_search",
  description: "Looks slowly.",
  input: z.object({ query: z.string() }),
  async run({ query }) {
    await sleep(1);
    appendFileSync(join(folder, "executed.log"), `${query}\n`);
    process.stdout.write(`${query}\n`);
    return `found ${query}`;
  },
});
let finished = 0;
for await (const _ of runChains(tasks, {
  model,
  tools: [search],
  profile: mhqaProfile,
  journal,
  concurrency: 4,
  maxLive: 4,
}))
  finished++;
await journal.close();
process.exit(finished === tasks.length ? 0 : 1);
