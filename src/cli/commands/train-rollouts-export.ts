import { existsSync } from "node:fs";
import { join } from "node:path";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { readRollouts } from "../../train/rollout-journal.ts";
import { defineCommand, onePositional } from "../command.ts";

const name = "train rollouts";
const examples = [
  "coa train rollouts .coa/rl",
  "coa train rollouts .coa/rl --out right.jsonl && coa distill run right.jsonl",
];

export default defineCommand({
  name,
  summary: "Write the rollouts of a run with --max-staleness as JSONL, for distillation and the studio.",
  arguments: "<run folder>",
  examples,
  options: {
    out: {
      type: "string",
      valueName: "file",
      describe: "File to write; rollouts.jsonl in the run's folder by default",
    },
  },
  async run({ values, positionals, out }) {
    const folder = onePositional(this, positionals, "a run folder");
    const file = values.out ?? join(folder, "rollouts.jsonl");
    if (!existsSync(join(folder, "rollouts")))
      throw new UsageError(
        existsSync(join(folder, "rollouts.jsonl"))
          ? `the rollouts of ${folder} are JSONL already: ${join(folder, "rollouts.jsonl")}`
          : `${folder} has no rollouts: it is not a run of coa train rl with --max-staleness`,
      );
    if (existsSync(file)) throw new UsageError(`${file} exists already: name another file with --out, or delete it`);
    const writer = await openJsonl(file);
    let rollouts = 0;
    try {
      for await (const rollout of readRollouts(folder)) {
        await writer.append(rollout);
        rollouts++;
      }
    } finally {
      await writer.close();
    }
    if (values.json) out.json({ file, rollouts });
    else out.print(`${rollouts} rollouts in ${file}`);
    return 0;
  },
});
