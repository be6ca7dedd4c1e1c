import { existsSync } from "node:fs";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import { defineCommand } from "../command.ts";
import { openFile, openFlag } from "../open-file.ts";
import { text, toggle } from "../setting.ts";
import { findThing, views } from "../show/find-thing.ts";

export default defineCommand({
  summary:
    "Show anything: runs, chains, datasets, trainings, evaluations, models, distillations, recordings, indexes; without a name, what the workspace holds.",
  arguments: "[path, name or id] [item]",
  examples: [
    "coa show",
    "coa show .coa/datasets/lab 3",
    "coa show chain-rl lab-42-hop2-7",
    "coa show .coa/rl",
    'coa show .coa/index/wiki "capital of France"',
    "coa show run-3f2a --json",
    "coa show profiles",
  ],
  options: {
    items: toggle("A line for every item instead of the summary; of a dataset's example, its tokens"),
    html: text("Write the report of an evaluation here", { valueName: "file", group: "output" }),
    open: openFlag,
    out: text("Write its runs, chains or rollouts here as JSONL", { valueName: "file", group: "output" }),
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const [word, item] = positionals;
    const thing = await findThing(word);
    const view = await views[thing.kind]();
    const shown = await view(thing.path, { item: item ?? thing.item, all: values.items, out, signal });
    if (values.html !== undefined) {
      if (!shown.html) throw new UsageError(`there is no report of ${word ?? "the workspace"} (${thing.kind})`);
      await writeFileAtomically(values.html, shown.html());
      out.note(`report: ${values.html}`);
      if (values.open) await openFile(values.html, out.note);
    }
    if (values.out !== undefined) {
      if (!shown.records) throw new UsageError(`${word ?? "the workspace"} (${thing.kind}) holds no runs or chains`);
      const written = await writeRecords(values.out, shown.records());
      return { json: { file: values.out, records: written }, text: `${written} records in ${values.out}` };
    }
    const { text: said, notes, broken } = shown;
    return { json: shown.json, text: said === "" ? [] : said, notes, code: broken ? 1 : 0 };
  },
});

async function writeRecords(file: string, records: AsyncIterable<unknown>): Promise<number> {
  if (existsSync(file)) throw new UsageError(`${file} exists already: name another file, or delete it`);
  const writer = await openJsonl(file);
  let written = 0;
  try {
    for await (const record of records) {
      await writer.append(record);
      written++;
    }
  } finally {
    await writer.close();
  }
  return written;
}
