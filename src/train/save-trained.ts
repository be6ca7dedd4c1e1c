/**
 * Writes a trained model so that it can be used without flags: weights and tokenizer in Hugging Face layout, a `coa.json` with
 * how the model is used and every training that it has had, and a model card.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readModelUse, writeModelUse } from "../base/files/model-use-file.ts";
import { packageVersion } from "../base/files/package-version.ts";
import type { Engine } from "../core/engine.ts";
import type { ModelTraining, ModelUse } from "../core/model-use.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { type ModelCard, writeModelCard } from "./model-card.ts";

export interface SaveTrainedOptions {
  engine: Pick<Engine, "saveModel" | "saveAdapter">;
  tokenizer: Tokenizer;
  /** What was done last, for `coa.json`. */
  training?: ModelTraining;
  /** The model folder that training began with: its `coa.json` is the default of `use`, and its trainings are kept. */
  from?: string;
  /** How the model is used; no `coa.json` is written where neither this nor `from` says it. */
  use?: ModelUse;
  /** Writes other weights than the engine's: `(into) => averageModels(result.models, into)`. */
  weights?: (folder: string) => Promise<void>;
  /** What the model card says beyond base, licence and data. */
  card?: ModelCard;
}

/** Writes the model, the adapter or both into the folders given. */
export async function saveTrained(
  folders: { model?: string; adapter?: string },
  { engine, tokenizer, training, from, weights = engine.saveModel, card = {}, ...options }: SaveTrainedOptions,
): Promise<void> {
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
