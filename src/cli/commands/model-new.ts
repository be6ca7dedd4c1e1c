import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { saveModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { initialParameters, parameterCount } from "../../engines/embedded/model/parameters.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { tokenizerOf } from "../read-weights.ts";

export default defineCommand({
  name: "model new",
  examples: [
    "coa model new .coa/models/fresh --tokenizer .coa/tokenizer --hidden 128 --layers 4 --heads 4 --copy-init",
    "coa model new tiny --vocabulary 512 --hidden 64 --layers 2 --heads 2",
  ],
  summary: "Make a new model with random weights, as a Hugging Face folder.",
  arguments: "<folder>",
  options: {
    architecture: { type: "string", default: "qwen2", valueName: "name", describe: "qwen2, qwen3 or llama" },
    tokenizer: { type: "string", valueName: "folder", describe: "Take vocabulary and tokenizer files from here" },
    vocabulary: { type: "string", valueName: "n", describe: "Vocabulary size, where there is no tokenizer" },
    hidden: { type: "string", default: "128", valueName: "n", describe: "Width of the model" },
    layers: { type: "string", default: "4", valueName: "n", describe: "Layers" },
    heads: { type: "string", default: "4", valueName: "n", describe: "Attention heads" },
    "kv-heads": { type: "string", valueName: "n", describe: "Heads for keys and values; as many as heads by default" },
    "head-size": { type: "string", valueName: "n", describe: "Width of a head; hidden / heads by default" },
    inner: { type: "string", valueName: "n", describe: "Inner width; 8/3 of hidden by default" },
    context: { type: "string", default: "2048", valueName: "n", describe: "Longest context" },
    untied: { type: "boolean", default: false, describe: "An output matrix of its own instead of the embedding" },
    "copy-init": { type: "boolean", default: false, describe: "Start with a circuit that copies (qwen2 only)" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Seed of the weights" },
    overwrite: { type: "boolean", default: false, describe: "Replace a model that the folder holds" },
  },
  async run({ values, positionals, out }) {
    const folder = onePositional(this, positionals, "a folder to write");
    if (existsSync(join(folder, "config.json")) && !values.overwrite)
      throw new UsageError(`${folder} holds a model already: choose another folder, or replace it with --overwrite`);
    const whole = (
      name: "hidden" | "layers" | "heads" | "kv-heads" | "head-size" | "inner" | "context" | "vocabulary",
    ) => numberOf(values[name], name, { min: 1, integer: true });
    const { architecture } = values;
    if (architecture !== "qwen2" && architecture !== "qwen3" && architecture !== "llama")
      throw new UsageError(`--architecture is qwen2, qwen3 or llama, not "${architecture}"`);
    const tokenizer = values.tokenizer ? await tokenizerOf(values.tokenizer) : undefined;
    if (values.tokenizer && !tokenizer) throw new UsageError(`no tokenizer.json in ${values.tokenizer}`);
    const vocabularySize = whole("vocabulary") ?? tokenizer?.vocabularySize;
    if (!vocabularySize) throw new UsageError("give --tokenizer <folder> or --vocabulary <n>");
    const kvHeads = whole("kv-heads");
    const headSize = whole("head-size");
    const intermediateSize = whole("inner");
    const config = modelConfig({
      architecture,
      vocabularySize,
      hiddenSize: whole("hidden")!,
      layers: whole("layers")!,
      heads: whole("heads")!,
      ...(kvHeads ? { kvHeads } : {}),
      ...(headSize ? { headSize } : {}),
      ...(intermediateSize ? { intermediateSize } : {}),
      tieEmbeddings: !values.untied,
      maxContext: whole("context")!,
    });
    const seed = numberOf(values.seed, "seed", { min: 0, integer: true })!;
    const parameters = initialParameters(config, seed, { copyInit: values["copy-init"] });
    const ends = tokenizer?.endOfTurn ?? [];
    await saveModelFolder(
      folder,
      { config, parameters },
      {
        ...(values.tokenizer ? { companionsFrom: values.tokenizer } : {}),
        ...(ends.length > 0 ? { generationConfig: { eos_token_id: ends } } : {}),
      },
    );
    const count = parameterCount(config);
    if (values.json) out.json({ folder, parameters: count, vocabulary: vocabularySize, seed });
    else {
      out.print(`${folder}: ${architecture}, ${count.toLocaleString("en")} parameters, seed ${seed}`);
      out.note(`next: coa train sft <dataset> --model ${folder}`);
    }
    return 0;
  },
});
