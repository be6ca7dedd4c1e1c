import { readReport } from "../../distill/read-distillation.ts";
import { reportText } from "../../report/distill-text.ts";
import { defineCommand, onePositional } from "../command.ts";

export default defineCommand({
  name: "distill report",
  examples: ["coa distill report .coa/distilled/web", "coa distill report .coa/distilled/web --json"],
  summary: "Show what a distillation kept and dropped, stage by stage, and why. The folder has it as HTML too.",
  arguments: "<folder>",
  options: {},
  async run({ values, positionals, out }) {
    const report = await readReport(onePositional(this, positionals, "a distillation's folder"));
    if (values.json) out.json(report);
    else out.print(reportText(report));
    return 0;
  },
});
