import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { saveModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { initialParameters, parameterCount } from "../../engines/embedded/model/parameters.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, onePositional } from "../command.ts";
import { text, toggle, whole } from "../setting.ts";

export default defineCommand({
  examples: [
    "coa model new .coa/models/fresh --tokenizer .coa/tokenizer --hidden 128 --layers 4 --heads 4",
    "coa model new tiny --vocabulary 512 --hidden 64 --layers 2 --heads 2 --set newModel.architecture=llama",
  ],
  summary: "Make a new model with random weights, as a Hugging Face folder.",
  arguments: "<folder>",
  reads: ["newModel"],
  options: {
    tokenizer: text("Take vocabulary and tokenizer files from here", { valueName: "folder" }),
    vocabulary: whole("Vocabulary size, where there is no tokenizer", { valueName: "n" }),
    hidden: whole("Width of the model", { default: 128, valueName: "n", group: "model" }),
    layers: whole("Layers", { default: 4, valueName: "n", group: "model" }),
    heads: whole("Attention heads", { default: 4, valueName: "n", group: "model" }),
    context: whole("Longest context", { default: 2048, valueName: "n", group: "model" }),
    seed: whole("Seed of the weights", { default: 0, min: 0, valueName: "n", group: "model" }),
    replace: toggle("Replace a model that the folder holds", { group: "output" }),
  }, // biome-ignore format: one flag a line
  async run({ values, settings, positionals }) {
    const folder = onePositional(positionals, "a folder to write");
    if (existsSync(join(folder, "config.json")) && !values.replace)
      throw new UsageError(`${folder} holds a model already: choose another folder, or replace it with --replace`);
    if (values.tokenizer && !existsSync(join(values.tokenizer, "tokenizer.json")))
      throw new UsageError(`no tokenizer.json in ${values.tokenizer}`);
    const tokenizer = values.tokenizer ? await loadTokenizer(values.tokenizer) : undefined;
    const vocabularySize = values.vocabulary ?? tokenizer?.vocabularySize;
    if (!vocabularySize) throw new UsageError("give --tokenizer <folder> or --vocabulary <n>");
    const { architecture, kvHeads, headSize, inner, untied, copyInit } = settings.newModel;
    const config = modelConfig({
      architecture,
      vocabularySize,
      hiddenSize: values.hidden,
      layers: values.layers,
      heads: values.heads,
      kvHeads,
      headSize,
      intermediateSize: inner,
      tieEmbeddings: !untied,
      maxContext: values.context,
    });
    const { seed } = values;
    const parameters = initialParameters(config, seed, { copyInit });
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
    return {
      json: { folder, parameters: count, vocabulary: vocabularySize, seed },
      text: `${folder}: ${architecture}, ${count.toLocaleString("en")} parameters, seed ${seed}`,
      notes: [`next: coa train sft <dataset> --model ${folder}`],
    };
  },
});
