/** The weights of a model folder or a GGUF file, and its tokenizer. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Tokenizer } from "../core/tokenizer.ts";
import { loadGguf } from "../engines/embedded/files/gguf-model.ts";
import { loadModelFolder } from "../engines/embedded/files/model-folder.ts";
import type { ModelConfig } from "../engines/embedded/model/config.ts";
import type { ParameterSet } from "../engines/embedded/model/parameters.ts";
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts";

/** Reads a model from a Hugging Face folder or a GGUF file; `folder` is set for the former. */
export async function readWeights(
  path: string,
): Promise<{ config: ModelConfig; parameters: ParameterSet; folder?: string }> {
  return path.endsWith(".gguf") ? loadGguf(path) : loadModelFolder(path);
}

/** The tokenizer of a model folder, or undefined where it has none. */
export async function tokenizerOf(folder: string): Promise<Tokenizer | undefined> {
  return existsSync(join(folder, "tokenizer.json")) ? loadTokenizer(folder) : undefined;
}
