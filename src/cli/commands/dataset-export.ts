import { resolve } from "node:path";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { excludeTeachers } from "../../dataset/exclude-teachers.ts";
import { type ExportFormat, exportDataset, exportFormats } from "../../dataset/export/export-dataset.ts";
import { conversationTemplateOf } from "../../tokenizers/conversation-template.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { chooseProfile } from "../choose-profile.ts";
import { defineCommand, oneInputFile } from "../command.ts";
import { anyOf, choice, text, whole } from "../setting.ts";

/** Formats that another trainer puts through the model's chat template. */
const isConversation = (format: ExportFormat) => ["chat", "openai-tools"].includes(format);

const names = Object.entries(exportFormats).map(([name, { about }]) => `${name} (${about})`);

export default defineCommand({
  examples: [
    "coa dataset export chains.jsonl --format llama-factory --out data",
    "coa dataset export chains.jsonl --format trl --tokenizer ./Qwen2.5-3B --out data",
    "coa dataset export tasks.jsonl --format verl-rl --profile web --out data",
  ],
  summary: `Write files for other trainers. Formats: ${names.join("; ")}.`,
  arguments: "<trajectories.jsonl or tasks.jsonl>",
  options: {
    format: choice(Object.keys(exportFormats) as ExportFormat[], "Format of the files", { valueName: "name" }),
    out: text("Where to write", { default: ".", valueName: "folder", group: "output" }),
    name: text("Base name of the files", { default: "chains", valueName: "name", group: "output" }),
    tokenizer: text("Tokenizer of the model: trl needs it; chat formats are checked against its chat template", { valueName: "folder", group: "model" }),
    "max-tokens": whole("Max tokens per example (trl)", { valueName: "n", group: "limits" }),
    profile: text("Profile whose system prompt RL prompts carry", { valueName: "name", group: "model" }),
    split: text("Name of the split, for RL rows", { default: "train", valueName: "name", group: "output" }),
  }, // biome-ignore format: one flag a line
  reads: ["dataset"],
  async run({ values, settings, positionals, signal }) {
    const file = oneInputFile(positionals, "a JSONL file");
    const { format } = values;
    if (!format) throw new UsageError(`--format takes ${anyOf(Object.keys(exportFormats))}`);
    if (resolve(file) === resolve(values.out, `${values.name}.jsonl`))
      throw new UsageError(`the export would overwrite ${file}: choose another --out or --name`);
    const profile = values.profile === undefined ? undefined : await chooseProfile(values.profile);
    const excluded = new Map<string, number>();
    const data =
      exportFormats[format].of === "tasks"
        ? readJsonl(file, taskSchema, { signal })
        : excludeTeachers(readJsonl(file, trajectorySchema, { signal }), settings.dataset.excludeTeacher, excluded);
    const result = await exportDataset(data, {
      format,
      folder: values.out,
      name: values.name,
      ...(values.tokenizer !== undefined && {
        tokenizer: await loadTokenizer(values.tokenizer),
        ...(isConversation(format) && { render: await conversationTemplateOf(values.tokenizer) }),
      }),
      maxTokens: values["max-tokens"],
      observationRole: settings.dataset.observationRole,
      profile,
      split: values.split,
      signal,
    });
    for (const [name, count] of excluded) result.skipped[`taught by ${name}`] = count;
    const leftOut = Object.entries(result.skipped).map(([reason, count]) => `left out ${count}: ${reason}`);
    return { json: result, text: [`${result.rows} rows in ${result.files.join(", ")}`, ...leftOut] };
  },
});
