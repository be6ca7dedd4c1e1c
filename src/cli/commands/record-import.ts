import { openJsonl } from "../../base/files/open-jsonl.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import { UsageError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { importFormats } from "../../record/import-file.ts";
import { priceRun, runTree, summariseRun } from "../../record/run-summary.ts";
import { defineCommand } from "../command.ts";
import { pricesOf } from "../prices.ts";
import { text, toggle } from "../setting.ts";
import { importTraces } from "../trace-files.ts";
import { existingFiles } from "./dataset-input.ts";
import { recordingsFolder } from "./record-folder.ts";

const examples = [
  "coa record import --out runs.jsonl",
  "coa record import trace.json --out runs.jsonl",
  "coa record import langsmith-*.json --json",
  "coa record import run.jsonl --format oagents --out runs.jsonl",
];

export default defineCommand({
  name: "record import",
  summary: `Turn recordings, or files of other systems, into team runs: ${Object.keys(importFormats).join(", ")}. Several files may hold parts of one trace; without a file, the workspace's recordings.`,
  arguments: "[file or folder…]",
  examples,
  options: {
    format: text("Format of the files (default: recognised)", { valueName: "name" }),
    out: text("Append the runs that it does not hold yet to this JSONL file", { valueName: "file", group: "output" }),
    replace: toggle("Replace the file of --out instead of appending to it", { group: "output" }),
  },
  reads: ["record", "spending"],
  hides: ["max-usd"],
  async run({ values, settings, positionals, out }) {
    const paths = positionals.length > 0 ? positionals : [await recordingsFolder(settings.record.folder)];
    await existingFiles(paths);
    const { runs: found, unreadable } = await importTraces(paths, { format: values.format });
    const runs = found.map((run) => priceRun(run, pricesOf(settings.spending.price)));
    if (runs.length === 0 && positionals.length === 0)
      throw new UsageError(`there are no recordings in ${paths[0]} yet. Record with: coa record proxy --to <server>`);
    for (const { file, reason } of unreadable) out.note(`not a trace: ${file}: ${reason}`);
    if (values.out && values.replace)
      await writeFileAtomically(values.out, runs.map((run) => `${JSON.stringify(run)}\n`).join(""));
    else if (values.out) {
      // The same recordings read again bring the same runs.
      const written = new Set<string>();
      for await (const run of readJsonl(values.out)) written.add(fingerprint(JSON.stringify(run)));
      const writer = await openJsonl<TeamRun>(values.out);
      for (const run of runs) if (!written.has(fingerprint(JSON.stringify(run)))) await writer.append(run);
      await writer.close();
    }
    if (values.json) out.json(runs.map(summariseRun));
    else {
      // Into a file: `coa show` draws them.
      if (!values.out || runs.length <= 3) for (const run of runs) out.print(`${runTree(run, out.width)}\n`);
      const refused = runs.filter((run) => summariseRun(run).refused !== null).length;
      out.print(
        `${runs.length} runs, ${refused} of them not for training${values.out ? `, written to ${values.out}` : ""}`,
      );
    }
    if (!values.json && values.out && runs.length > 0)
      out.note(`next: coa tasks recorded ${values.out}, or coa up ${values.out} --dry-run`);
    return runs.length > 0 ? 0 : 1;
  },
});
