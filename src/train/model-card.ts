/**
 * The model card of a trained model, `README.md` as hubs show it: what it was made from, under which licence, with which data and
 * command, and what was measured. A licence goes from card to card: it is that of the base model, which training does not change.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ModelTraining } from "../core/model-use.ts";

/** What a card says beyond the trainings. */
export interface ModelCard {
  /** The command as it was called. */
  command?: string;
  /** What the run measured, by name. */
  results?: Readonly<Record<string, number | string>>;
}

const file = "README.md";

/** Writes the card of a model; `from` is the folder that training began with. */
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
