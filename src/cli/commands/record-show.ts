import { runTree, summariseRun } from "../../record/run-summary.ts";
import { defineCommand, onePositional } from "../command.ts";
import { findRuns, folderOption, recordingsFolder } from "./record-folder.ts";

const examples = ["coa record show run-3f2a", "coa record show run-3f2a --json"];

export default defineCommand({
  name: "record show",
  summary: "Show one recorded run as a tree, with tokens per agent",
  arguments: "<run>",
  examples,
  options: { folder: folderOption },
  async run({ values, positionals, out }) {
    const id = onePositional(this, positionals, "a run id");
    const runs = await findRuns(await recordingsFolder(values.folder), id);
    if (values.json) out.json(runs.map(summariseRun));
    else out.print(runs.map((run) => runTree(run, out.width)).join("\n\n"));
    return 0;
  },
});
