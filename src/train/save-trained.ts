/**
 * Writes a trained model so that it can be used without flags: weights and tokenizer in Hugging Face layout, a `coa.json` with
 * how the model is used and every training that it has had, and a model card.
 */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readModelUse, writeModelUse } from "../base/files/model-use-file.ts";
import { packageVersion } from "../base/files/package-version.ts";
import type { Engine } from "../core/engine.ts";
import type { ModelTraining, ModelUse } from "../core/model-use.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

export interface SaveTrainedOptions {
  engine: Pick<Engine, "saveModel" | "saveAdapter">;
  tokenizer: Tokenizer;
  /** What was done last, for `coa.json`. @internal */
  training?: ModelTraining;
  /** The model folder that training began with: its `coa.json` is the default of `use`, and its trainings are kept. */
  from?: string;
  /** How the model is used; no `coa.json` is written where neither this nor `from` says it. */
  use?: ModelUse;
  /** Writes other weights than the engine's: `(into) => averageModels(result.models, into)`. */
  weights?: (folder: string) => Promise<void>;
  /** What the model card says beyond base, licence and data. @internal */
  card?: ModelCard;
}

/** Writes the model, the adapter or both into the folders given. */
export async function saveTrained(
  folders: { model?: string; adapter?: string },
  given: SaveTrainedOptions,
): Promise<void> {
  const { engine, tokenizer, training, from, weights = engine.saveModel, card = {}, ...options } = given;
  const { model, adapter } = folders;
  if (adapter !== undefined) await engine.saveAdapter?.(adapter);
  if (model === undefined) return;
  await weights.call(engine, model);
  // An engine that was opened from a folder has copied its tokenizer's files: they stay as they were, byte for byte.
  if (!existsSync(join(model, "tokenizer.json"))) await tokenizer.save(model);
  const start = from === undefined ? undefined : await readModelUse(from);
  const use = options.use ?? start;
  const step = training && {
    ...(from !== undefined && { from: nameOf(from) }),
    packageVersion: packageVersion(),
    ...training,
  };
  const trainings = [...(start?.training ?? []), ...(step ? [step] : [])];
  if (use) await writeModelUse(model, { ...use, training: trainings });
  await writeModelCard(model, trainings, card, from);
}

/** The last parts of a path: enough to recognise a model by, and nothing of the machine. */
function nameOf(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).slice(-2).join("/");
}

/** What a card says beyond the trainings. */
export interface ModelCard {
  command?: string;
  results?: Readonly<Record<string, number | string>>;
}

const file = "README.md";

/**
 * The model card of a trained model, `README.md` as hubs show it: what it was made from, under which licence, with which data and
 * command, and what was measured. A licence goes from card to card: it is that of the base model, which training does not change.
 */
export async function writeModelCard(
  folder: string,
  trainings: readonly ModelTraining[],
  { command, results = {} }: ModelCard,
  from?: string,
): Promise<void> {
  const base = trainings[0]?.from;
  const licence = from === undefined ? undefined : await licenceOf(from);
  const rows = trainings.map(({ stage, from: start = "random weights", data = "", seed = "", packageVersion = "" }) =>
    [stage, start, data, seed, packageVersion].join(" | "),
  );
  const lines = [
    "---",
    ...(base === undefined ? [] : [`base_model: ${JSON.stringify(base)}`]),
    ...(licence === undefined ? [] : [`license: ${licence}`]),
    "library_name: transformers",
    "tags: [chain-of-agents]",
    "---",
    "",
    `# ${folder.split(/[\\/]/).filter(Boolean).slice(-2).join("/")}`,
    "",
    `Trained by chain-of-agents${base === undefined ? "" : ` from ${base}`}. Licence: ${licence ?? "not known; see the base model"}.`,
    "",
    "| stage | from | fingerprint of the data | seed | version |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map((row) => `| ${row} |`),
    ...(command === undefined ? [] : ["", "The last stage:", "", "```sh", command, "```"]),
    ...(Object.keys(results).length === 0 ? [] : ["", "| measured | |", "| --- | --- |"]),
    ...Object.entries(results).map(([name, value]) => `| ${name} | ${value} |`),
  ];
  await writeFile(join(folder, file), `${lines.join("\n")}\n`);
}

/** The licence that a folder's card names. */
async function licenceOf(folder: string): Promise<string | undefined> {
  const card = await readFile(join(folder, file), "utf8").catch(() => "");
  return /^---\n(?:.*\n)*?license:[ \t]*(\S[^\n]*)\n(?:.*\n)*?---/.exec(card)?.[1]?.trim();
}
