import { configToHuggingFace } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { defineCommand, onePositional } from "../command.ts";
import { table } from "../output.ts";
import { openModel, tokenizerOf } from "./model-input.ts";

export default defineCommand({
  name: "model info",
  examples: ["coa model info .coa/models/lab", "coa model info model.gguf --json"],
  summary: "Describe a model: architecture, sizes, parameters, tokenizer; every tensor is read and checked.",
  arguments: "<folder or .gguf>",
  options: { tensors: { type: "boolean", default: false, describe: "List every tensor with its shape and range" } },
  async run({ values, positionals, out }) {
    const path = onePositional(this, positionals, "a model folder or .gguf file");
    const { config, parameters, folder } = await openModel(path);
    const tokenizer = folder ? await tokenizerOf(folder) : undefined;
    const count = parameterCount(config);
    const tensors = [...parameters].map(([name, { shape, data }]) => {
      const absolute = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      return { name, shape, largest: absolute };
    });
    const broken = tensors.filter(({ largest }) => !Number.isFinite(largest)).map(({ name }) => name);
    if (values.json) {
      out.json({
        path,
        config: configToHuggingFace(config),
        parameters: count,
        broken,
        tokenizer: tokenizer ? { size: tokenizer.vocabularySize, special: [...tokenizer.specialTokens.keys()] } : null,
        ...(values.tensors ? { tensors } : {}),
      });
      return broken.length > 0 ? 1 : 0;
    }
    const heads = `${config.heads} of size ${config.headSize}, ${config.kvHeads} for keys and values`;
    out.print(
      table([
        ["architecture", config.architecture],
        ["parameters", `${count.toLocaleString("en")} (${(count / 2 ** 18).toFixed(1)} MiB as f32)`],
        ["layers", String(config.layers)],
        ["hidden, inner", `${config.hiddenSize}, ${config.intermediateSize}`],
        ["heads", heads],
        [
          "vocabulary",
          `${config.vocabularySize}, output ${config.tieEmbeddings ? "tied to" : "apart from"} the embedding`,
        ],
        ["context", String(config.maxContext)],
        ["rope theta, eps", `${config.ropeTheta}, ${config.rmsEpsilon}`],
        [
          "tokenizer",
          tokenizer ? `${tokenizer.vocabularySize} tokens, ${tokenizer.specialTokens.size} special` : "none",
        ],
      ]),
    );
    if (values.tensors)
      out.print(
        table(tensors.map(({ name, shape, largest }) => [name, `[${shape}]`, `|w| <= ${largest.toPrecision(4)}`])),
      );
    for (const name of broken) out.note(`tensor ${name} holds numbers that are not finite`);
    return broken.length > 0 ? 1 : 0;
  },
});
