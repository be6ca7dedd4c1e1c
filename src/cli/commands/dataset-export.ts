import { readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { taskSchema } from "../../core/task.ts";
import { trajectorySchema } from "../../core/trajectory.ts";
import { type ExportFormat, exportDataset, exportFormats } from "../../dataset/export/export-dataset.ts";
import { builtInProfiles } from "../../language/profiles.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, numberOf, oneInputFile } from "../command.ts";
import { existingFiles } from "./dataset-input.ts";

const names = Object.entries(exportFormats).map(([name, { about }]) => `${name} (${about})`);

export default defineCommand({
  name: "dataset export",
  examples: [
    "coa dataset export chains.jsonl --format llama-factory --out data",
    "coa dataset export chains.jsonl --format trl --tokenizer ./Qwen2.5-3B --out data",
    "coa dataset export tasks.jsonl --format verl-rl --profile web --out data",
  ],
  summary: `Write files for other trainers. Formats: ${names.join("; ")}.`,
  arguments: "<trajectories.jsonl or tasks.jsonl>",
  options: {
    format: { type: "string", short: "f", describe: Object.keys(exportFormats).join(", ") },
    out: { type: "string", default: ".", valueName: "folder", describe: "Where to write" },
    name: { type: "string", default: "chains", describe: "Base name of the files" },
    tokenizer: { type: "string", valueName: "folder", describe: "Tokenizer of the model (trl)" },
    "max-tokens": { type: "string", valueName: "n", describe: "Longest example (trl)" },
    "observation-role": { type: "string", default: "user", describe: "Role of observations in chat: user or tool" },
    profile: { type: "string", describe: "Profile whose system prompt RL prompts carry" },
    split: { type: "string", default: "train", describe: "Name of the split, for RL rows" },
  },
  async run({ values, positionals, out, signal }) {
    const file = oneInputFile(this, positionals, "a JSONL file");
    await existingFiles([file]);
    const format = values.format as ExportFormat | undefined;
    if (!format || !(format in exportFormats)) {
      throw new UsageError(`--format takes one of ${Object.keys(exportFormats).join(", ")}`);
    }
    const observationRole = values["observation-role"];
    if (observationRole !== "user" && observationRole !== "tool") {
      throw new UsageError(`--observation-role takes user or tool, not "${observationRole}"`);
    }
    const profile = values.profile === undefined ? undefined : builtInProfiles[values.profile];
    if (values.profile !== undefined && !profile) {
      throw new UsageError(
        `there is no profile "${values.profile}"; there are ${Object.keys(builtInProfiles).join(", ")}`,
      );
    }
    const result = await exportDataset({
      format,
      folder: values.out,
      name: values.name,
      ...(exportFormats[format].of === "tasks"
        ? { tasks: readJsonl(file, taskSchema, { signal }) }
        : { trajectories: readJsonl(file, trajectorySchema, { signal }) }),
      tokenizer: values.tokenizer === undefined ? undefined : await loadTokenizer(values.tokenizer),
      maxTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true }),
      observationRole,
      profile,
      split: values.split,
      signal,
    });
    if (values.json) out.json(result);
    else {
      out.print(`${result.rows} rows in ${result.files.join(", ")}`);
      for (const [reason, count] of Object.entries(result.skipped)) out.print(`left out ${count}: ${reason}`);
    }
    return 0;
  },
});
