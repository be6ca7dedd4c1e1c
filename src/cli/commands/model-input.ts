/** What the model commands share: opening a folder or a GGUF file, and turning a prompt into ids. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { loadGguf } from "../../engines/embedded/files/gguf-model.ts";
import { loadModelFolder } from "../../engines/embedded/files/model-folder.ts";
import type { ModelConfig } from "../../engines/embedded/model/config.ts";
import type { ParameterSet } from "../../engines/embedded/model/parameters.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";

/** Reads a model from a Hugging Face folder or a GGUF file; `folder` is set for the former. */
export async function openModel(
  path: string,
): Promise<{ config: ModelConfig; parameters: ParameterSet; folder?: string }> {
  if (path.endsWith(".gguf")) return loadGguf(path);
  return loadModelFolder(path);
}

/** The tokenizer of a model folder, or undefined where it has none. */
export async function tokenizerOf(folder: string): Promise<Tokenizer | undefined> {
  const found = await stat(join(folder, "tokenizer.json")).catch(() => undefined);
  return found ? loadTokenizer(folder) : undefined;
}

/** Flags that say which tokens a command works on. */
export const textFlags = {
  text: {
    type: "string",
    short: "t",
    valueName: "text",
    describe: "The text; special tokens written in it count as such",
  },
  plain: { type: "boolean", default: false, describe: "Special tokens in the text are ordinary characters" },
  tokens: { type: "string", valueName: "ids", describe: "Token ids instead of a text, separated by commas" },
} as const;

/** The ids that the flags mean. */
export function tokensOf(
  values: { text?: string | undefined; plain: boolean; tokens?: string | undefined },
  tokenizer: Tokenizer | undefined,
  folder: string,
): number[] {
  if ((values.text === undefined) === (values.tokens === undefined))
    throw new UsageError('give either --text "…" or --tokens 1,2,3');
  if (values.tokens !== undefined) {
    const ids = values.tokens.split(",").map((part) => Number(part.trim() || Number.NaN));
    if (ids.some((id) => !Number.isInteger(id) || id < 0))
      throw new UsageError(`--tokens takes whole numbers separated by commas, not "${values.tokens}"`);
    return ids;
  }
  if (!tokenizer) throw new UsageError(`${folder} has no tokenizer.json to read a text with; give ids with --tokens`);
  return values.plain ? tokenizer.encode(values.text!) : tokenizer.encodeWithSpecials(values.text!);
}
