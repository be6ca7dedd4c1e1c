import { UsageError } from "../../core/errors.ts";
import { writtenForm } from "../../core/trajectory.ts";
import type { OutcomeRecord } from "../../distill/distill-report.ts";
import { readOutcomes } from "../../distill/read-distillation.ts";
import { defineCommand, missingArgument } from "../command.ts";

const examples = ["coa distill show .coa/distilled/web run-17", "coa distill show .coa/distilled/web run-17 --json"];

export default defineCommand({
  name: "distill show",
  summary: "Show what became of one run: the chain it was turned into, or the stage that dropped it and why.",
  arguments: "<folder> <run, chain or task id>",
  examples,
  options: {},
  async run({ values, positionals, out }) {
    const [folder, id] = positionals;
    if (!folder || !id) throw missingArgument(this, "a folder and an id");
    let found = 0;
    const asked = ({ id: run, taskId }: OutcomeRecord) => run === id || taskId === id;
    for await (const { outcome, chain } of readOutcomes(folder, asked)) {
      found++;
      const { signature: _signature, ...shown } = outcome;
      if (values.json) {
        out.json({ ...shown, chain });
        continue;
      }
      const result =
        outcome.stage === null
          ? "kept"
          : `dropped by ${outcome.stage}: ${outcome.reason}${outcome.detail ? ` (${outcome.detail})` : ""}`;
      out.print(`${outcome.id} (task ${outcome.taskId}, ${outcome.file}:${outcome.line}): ${result}`);
      for (const { stage, measure, value, threshold } of outcome.decisions ?? []) {
        if (measure !== undefined) out.print(`  ${stage}: ${measure} ${value} (bound ${threshold})`);
      }
      if (chain)
        out.print(
          chain.segments
            .map((segment) => out.style(segment.by === "model" ? "green" : "gray", writtenForm(segment)))
            .join("\n"),
        );
      else if (outcome.stage !== null) out.note("its chain was not kept; three samples of each stage are");
    }
    if (found === 0) throw new UsageError(`${folder} has no run, chain or task "${id}"; see its outcomes.jsonl`);
    return 0;
  },
});
