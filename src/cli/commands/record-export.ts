import { UsageError } from "../../core/errors.ts";
import { readRecordings } from "../../record/recordings.ts";
import { priceRun } from "../../record/run-summary.ts";
import { refusedForTraining } from "../../record/trainable.ts";
import { defineCommand } from "../command.ts";
import { pricesOf } from "../flag-values.ts";
import { text, toggle } from "../setting.ts";
import { findRuns, recordingsFolder } from "./record-folder.ts";
import { appendRuns } from "./record-import.ts";

const examples = ["coa record export --out runs.jsonl", "coa record export run-3f2a --out one.jsonl --all"];

export default defineCommand({
  name: "record export",
  summary:
    "Write recorded runs as team runs, ready for coa distill run; what may not be trained on stays out, with the reason",
  arguments: "[run…]",
  examples,
  options: {
    out: text("The JSONL file to append to", { valueName: "file", group: "output" }),
    all: toggle("Also runs that are cut, without content or ambiguous"),
  },
  reads: ["record", "spending"],
  hides: ["max-usd"],
  async run({ values, settings, positionals, out }) {
    if (!values.out) throw new UsageError(`name the file of the runs. Example: ${examples[0]}`);
    const folder = await recordingsFolder(settings.record.folder);
    const found =
      positionals.length === 0
        ? await readRecordings(folder)
        : (await Promise.all(positionals.map((id) => findRuns(folder, id)))).flat();
    const runs = found.map((run) => priceRun(run, pricesOf(settings.spending.price)));
    const refused = runs.flatMap((run) => {
      const reason = values.all ? null : refusedForTraining(run);
      return reason === null ? [] : [{ id: run.id, reason }];
    });
    const kept = runs.filter((run) => !refused.some(({ id }) => id === run.id));
    await appendRuns(values.out, kept);
    if (values.json) out.json({ written: kept.length, refused });
    else {
      for (const { id, reason } of refused) out.note(`left out ${id}: ${reason}`);
      out.print(`${kept.length} of ${runs.length} runs written to ${values.out}`);
      out.note(`next: coa tasks recorded ${values.out}, or coa up ${values.out} --dry-run`);
    }
    return kept.length > 0 ? 0 : 1;
  },
});
