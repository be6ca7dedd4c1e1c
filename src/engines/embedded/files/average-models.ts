/**
 * The mean of several models' weights. During the last steps of RL the weights vary around a point that is better than
 * any of them; their mean is near that point. A share of the model that all began with also keeps what the steps were
 * not meant to change.
 */
import { UsageError } from "../../../core/errors.ts";
import { loadModelFolder, saveModelFolder } from "./model-folder.ts";

/**
 * Writes the mean of model folders of one architecture into a folder, with the tokenizer files and the number type of the start, or
 * else the last. `start`: the model that all the others began with, and how much of the mean is its weights, from 0 to 1.
 */
export async function averageModels(
  folders: readonly string[],
  into: string,
  options: { start?: { folder: string; share: number } } = {},
): Promise<void> {
  const [first, ...others] = folders;
  if (!first) throw new UsageError("no model folder to average");
  const share = options.start?.share ?? 0;
  if (!(share >= 0 && share <= 1)) throw new UsageError(`start.share must be between 0 and 1, not ${share}`);
  const mean = await loadModelFolder(first);
  const moveTowards = async (folder: string, step: number) => {
    const { parameters } = await loadModelFolder(folder);
    for (const [name, { data }] of mean.parameters) {
      const other = parameters.get(name);
      if (other?.data.length !== data.length)
        throw new UsageError(`${folder} and ${first} are models of different shapes: ${name} differs`);
      for (let at = 0; at < data.length; at++) data[at]! += (other.data[at]! - data[at]!) * step;
    }
  };
  for (const [index, folder] of others.entries()) await moveTowards(folder, 1 / (index + 2));
  if (options.start && share > 0) await moveTowards(options.start.folder, share);
  await saveModelFolder(into, mean, { companionsFrom: options.start?.folder ?? folders.at(-1)! });
}
