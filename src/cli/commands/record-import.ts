import { openJsonl } from "../../base/files/open-jsonl.ts";
import { writeFileAtomically } from "../../base/files/write-file.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { importFormats } from "../../record/import-file.ts";
import { runTree, summariseRun } from "../../record/run-summary.ts";
import { defineCommand, missingArgument } from "../command.ts";
import { text, toggle } from "../setting.ts";
import { importTraces } from "../trace-files.ts";
import { existingFiles } from "./dataset-input.ts";

const examples = [
  "coa record import trace.json --out runs.jsonl",
  "coa record import langsmith-*.json --json",
  "coa record import run.jsonl --format oagents --out runs.jsonl",
];

export default defineCommand({
  name: "record import",
  summary: `Turn files of other systems into team runs: ${Object.keys(importFormats).join(", ")}. Several files may hold parts of one trace.`,
  arguments: "<file or folder…>",
  examples,
  options: {
    format: text("Format of the files (default: recognised)", { valueName: "name" }),
    out: text("Append the runs to this JSONL file", { valueName: "file", group: "output" }),
    replace: toggle("Replace the file of --out instead of appending to it", { group: "output" }),
  },
  async run({ values, positionals, out }) {
    if (positionals.length === 0) throw missingArgument(this, "files");
    await existingFiles(positionals);
    const { runs, unreadable } = await importTraces(positionals, { format: values.format });
    for (const { file, reason } of unreadable) out.note(`not a trace: ${file}: ${reason}`);
    if (values.out && values.replace)
      await writeFileAtomically(values.out, runs.map((run) => `${JSON.stringify(run)}\n`).join(""));
    else if (values.out) await appendRuns(values.out, runs);
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

/** Appends runs to a file of team runs. */
export async function appendRuns(file: string, runs: readonly TeamRun[]): Promise<void> {
  const writer = await openJsonl<TeamRun>(file);
  try {
    for (const run of runs) await writer.append(run);
  } finally {
    await writer.close();
  }
}
