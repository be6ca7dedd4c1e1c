import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { UsageError } from "../../core/errors.ts";
import { loadAdapterFolder } from "../../engines/embedded/files/adapter-folder.ts";
import { saveGguf } from "../../engines/embedded/files/gguf-model.ts";
import { ggufTokenizer } from "../../engines/embedded/files/gguf-tokenizer.ts";
import { saveModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { mergedParameters } from "../../engines/embedded/lora/adapter.ts";
import { readAdapterArchive } from "../../engines/tinker/checkpoint-files.ts";
import { defineCommand, numberOf } from "../command.ts";
import { readWeights, tokenizerOf } from "../read-weights.ts";

export default defineCommand({
  name: "model convert",
  summary: "Copy a model into another format: a Hugging Face folder, or a .gguf file for llama.cpp.",
  arguments: "<from> <to>",
  examples: [
    "coa model convert .coa/models/lab lab.gguf --type q8_0",
    "coa model convert .coa/models/lab lab-bf16 --type bf16",
    "coa model convert base merged --adapter adapter",
    "coa model convert base merged --adapter checkpoint.tar.gz",
  ],
  options: {
    type: { type: "string", default: "f32", valueName: "type", describe: "f32, f16, bf16 (folders) or q8_0 (GGUF)" },
    adapter: {
      type: "string",
      valueName: "folder",
      describe: "Add this LoRA adapter to the weights: a PEFT folder, or an archive (.tar.gz) of a training server",
    },
    "max-shard-mib": { type: "string", valueName: "n", describe: "Split a folder's weights into files of this size" },
  },
  async run({ values, positionals, out }) {
    const [from, to, ...rest] = positionals;
    if (!from || !to || rest.length > 0)
      throw new UsageError("coa model convert takes two paths: from where, and to where");
    const toGguf = to.endsWith(".gguf");
    const types = toGguf ? (["f32", "f16", "q8_0"] as const) : (["f32", "f16", "bf16"] as const);
    const type = types.find((name) => name === values.type);
    if (!type)
      throw new UsageError(
        `--type is one of ${types.join(", ")} for ${toGguf ? "a GGUF file" : "a folder"}, not "${values.type}"`,
      );
    const model = await readWeights(from);
    const { config, folder } = model;
    let { parameters } = model;
    if (values.adapter) {
      const adapter = (await stat(values.adapter).catch(() => null))?.isFile()
        ? await readAdapterArchive(await readFile(values.adapter), config)
        : await loadAdapterFolder(values.adapter, config);
      parameters = mergedParameters(parameters, adapter);
    }
    let tokenizer = false;
    if (toGguf) {
      tokenizer = folder !== undefined && (await tokenizerOf(folder)) !== undefined;
      await saveGguf(
        to,
        { config, parameters },
        {
          type: type as "f32" | "f16" | "q8_0",
          name: basename(from),
          ...(folder ? { use: await readModelUse(folder) } : {}),
          ...(tokenizer ? { tokenizer: await ggufTokenizer(folder!, config.vocabularySize) } : {}),
        },
      );
    } else {
      const shard = numberOf(values["max-shard-mib"], "max-shard-mib", { min: 1 });
      tokenizer = folder !== undefined && (await tokenizerOf(folder)) !== undefined;
      await saveModelFolder(
        to,
        { config, parameters },
        {
          type: type as "f32" | "f16" | "bf16",
          ...(folder ? { companionsFrom: folder } : {}),
          ...(shard ? { maxShardBytes: shard * 2 ** 20 } : {}),
        },
      );
    }
    if (!tokenizer) out.note(`${from} has no tokenizer here; ${to} has none either`);
    if (values.json) out.json({ from, to, type, tokenizer });
    else out.print(`${to} written as ${type}`);
    return 0;
  },
});
