import { readRecordings } from "../../record/recordings.ts";
import { summariseRun } from "../../record/run-summary.ts";
import { defineCommand } from "../command.ts";
import { table } from "../output.ts";
import { folderOption, recordingsFolder } from "./record-folder.ts";

export default defineCommand({
  name: "record list",
  summary: "List recorded runs: agents, calls, tokens, and whether they may be trained on",
  examples: ["coa record list", "coa record list --folder other/recordings --json"],
  options: { folder: folderOption },
  async run({ values, out }) {
    const folder = await recordingsFolder(values.folder);
    const runs = (await readRecordings(folder)).map(summariseRun);
    if (values.json) out.json(runs);
    else if (runs.length === 0) out.note(`no recordings in ${folder} yet. Record with: coa record proxy --to <server>`);
    else {
      const rows = runs.map((run) => [
        run.id.length > 24 ? `${run.id.slice(0, 23)}…` : run.id,
        String(run.agents.length),
        String(run.modelCalls),
        String(run.toolCalls),
        String(run.tokens.billed),
        run.refused === null ? "yes" : "no",
        `${run.question.replace(/\s+/g, " ").slice(0, 50)}`,
      ]);
      const header = ["run", "agents", "calls", "tools", "tokens", "trainable", "question"];
      out.print(table([header, ...rows], ["left", "right", "right", "right", "right", "left", "left"]));
    }
    return 0;
  },
});
