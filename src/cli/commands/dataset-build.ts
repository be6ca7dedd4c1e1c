import { fileFingerprint } from "../../base/files/fingerprint.ts";
import { type BadLine, readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { type Trajectory, trajectoryText } from "../../core/trajectory.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import { buildDataset, type DatasetManifest } from "../../dataset/dataset-folder.ts";
import { excludeTeachers } from "../../dataset/exclude-teachers.ts";
import { readAnnotations } from "../../dataset/read-annotations.ts";
import { tagTokens } from "../../language/profile.ts";
import { builtInProfiles } from "../../language/profiles.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";
import { namedProfiles } from "../choose-profile.ts";
import { defineCommand, existingFiles, MissingArgument } from "../command.ts";
import { text, whole } from "../setting.ts";

const examples = [
  "coa dataset build chains.jsonl --tokenizer ./Qwen2.5-3B --out .coa/datasets/web --max-tokens 32768",
  "coa dataset build chains.jsonl --vocabulary 512 --out .coa/datasets/lab",
  "coa dataset build chains.jsonl --tokenizer ./model --annotations .coa/annotations.jsonl --out .coa/datasets/reviewed",
];

export default defineCommand({
  summary: "Turn trajectories into a dataset: token ids with an exact loss mask, the tokenizer, and a manifest.",
  arguments: "<trajectories.jsonl…>",
  examples,
  options: {
    out: text("Where to write the dataset", { valueName: "folder", group: "output" }),
    tokenizer: text("Folder with the model's tokenizer.json", { valueName: "folder", group: "model" }),
    vocabulary: whole("Train a tokenizer of this size on the chains instead", { valueName: "size", group: "model" }),
    "max-tokens": whole("Max tokens per example, prompt included", { valueName: "n", group: "limits" }),
    annotations: text("Apply what was decided in coa studio's review: .coa/annotations.jsonl", { valueName: "file" }),
  },
  reads: ["dataset"],
  async run({ values, settings, positionals, out, signal }) {
    if (positionals.length === 0) throw new MissingArgument("trajectories");
    const { annotations } = values;
    existingFiles(annotations === undefined ? positionals : [...positionals, annotations]);
    if (!values.out) throw new UsageError("name the folder of the dataset: --out <folder>");
    const bad: BadLine[] = [];
    const onBad = values["skip-bad"] ? (line: BadLine) => void bad.push(line) : ("throw" as const);
    const excluded = new Map<string, number>();
    async function* given(): AsyncGenerator<Trajectory> {
      for (const file of positionals) yield* readJsonl(file, trajectorySchema, { onBad, signal });
    }
    const trajectories = () => excludeTeachers(given(), settings.dataset.excludeTeacher, excluded);
    const tokenizer = await chooseTokenizer(values.tokenizer, values.vocabulary, trajectories);
    bad.length = 0;
    excluded.clear();
    const decided = values["skip-bad"] ? (line: BadLine) => void bad.push(line) : undefined;
    const verdicts = annotations === undefined ? undefined : await readAnnotations(annotations, decided);
    const inputs = positionals.map((path) => ({ role: "trajectories", path }));
    if (annotations !== undefined) inputs.push({ role: "annotations", path: annotations });
    const manifest = await buildDataset(trajectories(), {
      folder: values.out,
      tokenizer,
      maxTokens: values["max-tokens"],
      overlong: settings.dataset.overlong,
      inputs: await Promise.all(
        inputs.map(async (input) => ({ ...input, fingerprint: await fileFingerprint(input.path) })),
      ),
      annotations: verdicts,
      profiles: namedProfiles,
      signal,
      onProgress: out.progress,
    });
    const share = Math.round((100 * manifest.tokens.trained) / manifest.tokens.all);
    return {
      json: { folder: values.out, ...manifest, badLines: bad },
      text: [
        `${manifest.examples} examples, ${manifest.tokens.all} tokens (${share} % trained) in ${values.out}`,
        ...Object.entries(manifest.dropped).map(([reason, count]) => `dropped ${count}: ${reason}`),
        ...[...excluded].map(([name, count]) => `left out ${count}: taught by ${name}`),
        ...(manifest.annotations ? [annotationLine(manifest.annotations)] : []),
        ...(manifest.cut > 0 ? [`cut ${manifest.cut} at a segment border`] : []),
      ],
      notes: [
        `next: coa train sft ${values.out} --model ${values.tokenizer ?? "<folder>"}, or coa show ${values.out} 0`,
        ...bad.map((line) => `skipped ${line.file}:${line.line}: ${line.message}`),
      ],
    };
  },
});

function annotationLine(counts: NonNullable<DatasetManifest["annotations"]>): string {
  const { kept, dropped, edited, invalid, unmatched, changed } = counts;
  const refused = invalid > 0 ? `, ${invalid} left out because their edit is not valid` : "";
  const done = `review: ${kept} kept, ${edited} edited, ${dropped} dropped${refused}`;
  if (unmatched === 0) return done;
  const why = changed > 0 ? ` (${changed} of them of a chain that has other words now)` : "";
  return `${done}; ${unmatched} annotations fit no chain of the input${why}`;
}

/** Loads the folder's tokenizer, or trains one of this size; the tags of the chains' own profiles are single tokens. */
export async function chooseTokenizer(
  folder: string | undefined,
  vocabularySize: number | undefined,
  trajectories: () => AsyncIterable<Trajectory>,
): Promise<Tokenizer> {
  if (folder !== undefined) return loadTokenizer(folder);
  if (vocabularySize === undefined) {
    throw new UsageError("give the model's tokenizer with --tokenizer <folder>, or train one with --vocabulary <size>");
  }
  const texts: string[] = [];
  const profiles = new Map(Object.values(builtInProfiles).map((profile) => [JSON.stringify(profile), profile]));
  for await (const trajectory of trajectories()) {
    const own = trajectory.language?.profile;
    if (own) profiles.set(JSON.stringify(own), own);
    texts.push(trajectoryText(trajectory.segments), ...trajectory.prompt.map((message) => ` ${message.content}`));
    if (texts.length > 20_000) break; // more text changes the merges no more
  }
  return trainTokenizer(texts, { vocabularySize, specialTokens: tagTokens([...profiles.values()]) });
}
