/**
 * A GGUF file as a Hugging Face folder that trains: weights (quantised ones as the numbers they stand for), config, tokenizer,
 * special tokens and chat template, all from the one file.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadGguf } from "./gguf-model.ts";
import { tokenizerFilesOf } from "./gguf-tokenizer.ts";
import { saveModelFolder } from "./model-folder.ts";

/** Writes the folder; one tensor at a time is in memory. */
export async function ggufToFolder(
  path: string,
  folder: string,
  options: { type?: "f32" | "f16" | "bf16"; maxShardBytes?: number } = {},
): Promise<void> {
  const { config, parameters, metadata } = await loadGguf(path);
  const { tokenizer, config: tokenizerConfig, generation } = tokenizerFilesOf(metadata, path);
  const use = metadata.get("coa.use");
  await saveModelFolder(
    folder,
    { config, parameters },
    {
      ...options,
      generationConfig: generation,
      async writeMore(temporary) {
        const write = (name: string, text: string) => writeFile(join(temporary, name), `${text}\n`);
        await write("tokenizer.json", JSON.stringify(tokenizer, null, 1));
        await write("tokenizer_config.json", JSON.stringify(tokenizerConfig, null, 2));
        if (typeof use === "string") await write("coa.json", use);
        const licence = metadata.get("general.license");
        if (typeof licence === "string") await write("README.md", `---\nlicense: ${licence.replace(/\s+/g, " ")}\n---`);
      },
    },
  );
}
