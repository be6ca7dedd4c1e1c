/**
 * The mean of several models' weights. The last steps of reinforcement shake the weights about a place that is better than any
 * of them; their mean loses the shaking and keeps what was learned.
 */
import { UsageError } from "../../../core/errors.ts";
import { loadModelFolder, saveModelFolder } from "./model-folder.ts";

/** Writes the mean of model folders of one architecture into a folder, with the tokenizer files of the last. */
export async function averageModels(folders: readonly string[], into: string): Promise<void> {
  const [first, ...others] = folders;
  if (!first) throw new UsageError("no model folder to average");
  const mean = await loadModelFolder(first);
  for (const [index, folder] of others.entries()) {
    const { parameters } = await loadModelFolder(folder);
    for (const [name, { data }] of mean.parameters) {
      const other = parameters.get(name);
      if (other?.data.length !== data.length)
        throw new UsageError(`${folder} and ${first} are models of different shapes: ${name} differs`);
      for (let at = 0; at < data.length; at++) data[at]! += (other.data[at]! - data[at]!) / (index + 2);
    }
  }
  await saveModelFolder(into, mean, { companionsFrom: folders.at(-1)! });
}
