/** A model: architecture, sizes, parameters, tokenizer; every tensor is read and checked. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadGguf } from "../../engines/embedded/files/gguf-model.ts";
import { loadModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { configToHuggingFace } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { table } from "../output.ts";
import type { View } from "./shown.ts";

/** Shows a model folder or a GGUF file; its items are its tensors. */
export const showModel: View = async (path, { all }) => {
  const model = path.endsWith(".gguf") ? await loadGguf(path) : await loadModelFolder(path, { later: true });
  const { config, parameters } = model;
  const tokenized = "folder" in model && existsSync(join(model.folder, "tokenizer.json"));
  const tokenizer = tokenized ? await loadTokenizer(model.folder) : undefined;
  const count = parameterCount(config);
  const tensors = [...parameters].map(([name, { shape, data }]) => {
    const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return { name, shape, largest };
  });
  const broken = tensors.filter(({ largest }) => !Number.isFinite(largest)).map(({ name }) => name);
  const rows = [
    ["architecture", config.architecture],
    ["parameters", `${count.toLocaleString("en")} (${(count / 2 ** 18).toFixed(1)} MiB as f32)`],
    ["layers", String(config.layers)],
    ["hidden, inner", `${config.hiddenSize}, ${config.intermediateSize}`],
    ["heads", `${config.heads} of size ${config.headSize}, ${config.kvHeads} for keys and values`],
    ["vocabulary", `${config.vocabularySize}, output ${config.tieEmbeddings ? "tied to" : "apart from"} the embedding`],
    ["context", String(config.maxContext)],
    ["rope theta, eps", `${config.ropeTheta}, ${config.rmsEpsilon}`],
    ["tokenizer", tokenizer ? `${tokenizer.vocabularySize} tokens, ${tokenizer.specialTokens.size} special` : "none"],
  ];
  const listed = tensors.map(({ name, shape, largest }) => [name, `[${shape}]`, `|w| <= ${largest.toPrecision(4)}`]);
  return {
    json: {
      path,
      config: configToHuggingFace(config),
      parameters: count,
      broken,
      tokenizer: tokenizer ? { size: tokenizer.vocabularySize, special: [...tokenizer.specialTokens.keys()] } : null,
      ...(all && { tensors }),
    },
    text: [table(rows), ...(all ? [table(listed)] : [])].join("\n"),
    notes: broken.map((name) => `tensor ${name} holds numbers that are not finite`),
    broken: broken.length > 0,
  };
};
