import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readModelUse } from "../../base/files/model-use-file.ts";
import { UsageError } from "../../core/errors.ts";
import { loadAdapterFolder } from "../../engines/embedded/files/adapter-folder.ts";
import { ggufToFolder, saveGguf } from "../../engines/embedded/files/gguf-model.ts";
import { ggufTokenizer } from "../../engines/embedded/files/gguf-tokenizer.ts";
import { loadModelFolder, saveModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { mergedParameters } from "../../engines/embedded/lora/adapter.ts";
import { readAdapterArchive } from "../../engines/tinker/checkpoint-files.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { text } from "../setting.ts";

export default defineCommand({
  summary: "Copy a model into another format: a Hugging Face folder, or a .gguf file for llama.cpp.",
  arguments: "<from> <to>",
  examples: [
    "coa model convert .coa/models/lab lab.gguf --type q8_0",
    "coa model convert SmolLM2-135M-Instruct.Q4_1.gguf smollm2",
    "coa model convert .coa/models/lab lab-bf16 --type bf16",
    "coa model convert base merged --adapter adapter",
    "coa model convert base merged --adapter checkpoint.tar.gz",
  ],
  options: {
    type: text("f32, f16, bf16 (folders) or q8_0 (GGUF)", { default: "f32", valueName: "type", group: "output" }),
    adapter: text("Add this LoRA adapter to the weights: a PEFT folder, or an archive (.tar.gz) of a training server", { valueName: "folder" }),
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, session }) {
    const [from, to] = positionals;
    if (!from || !to) throw new MissingArgument("two paths: from where, and to where");
    const toGguf = to.endsWith(".gguf");
    const types = toGguf ? (["f32", "f16", "q8_0"] as const) : (["f32", "f16", "bf16"] as const);
    const type = types.find((name) => name === values.type);
    if (!type)
      throw new UsageError(
        `--type is one of ${types.join(", ")} for ${toGguf ? "a GGUF file" : "a folder"}, not "${values.type}"`,
      );
    if (from.endsWith(".gguf") && !toGguf && !values.adapter) {
      await ggufToFolder(from, to, { type: type as "f32" | "f16" | "bf16" });
      return {
        json: { from, to, type, tokenizer: true },
        text: `${to} written as ${type}, with the tokenizer of ${from}`,
      };
    }
    // A GGUF file goes by way of a folder, so that its tokenizer comes along.
    const temporary = from.endsWith(".gguf") ? await mkdtemp(join(tmpdir(), "coa-convert-")) : undefined;
    session.closeAtEnd({ close: async () => temporary && rm(temporary, { recursive: true, force: true }) });
    const folder = temporary === undefined ? from : join(temporary, "model");
    if (temporary !== undefined) await ggufToFolder(from, folder);
    const { config, parameters: own } = await loadModelFolder(folder, { later: true });
    let parameters = own;
    if (values.adapter) {
      const adapter = (await stat(values.adapter).catch(() => null))?.isFile()
        ? await readAdapterArchive(await readFile(values.adapter), config)
        : await loadAdapterFolder(values.adapter, config);
      parameters = mergedParameters(parameters, adapter);
    }
    const tokenizer = existsSync(join(folder, "tokenizer.json"));
    if (toGguf) {
      await saveGguf(
        to,
        { config, parameters },
        {
          type: type as "f32" | "f16" | "q8_0",
          name: basename(from),
          use: await readModelUse(folder),
          ...(tokenizer ? { tokenizer: await ggufTokenizer(folder, config.vocabularySize) } : {}),
        },
      );
    } else {
      await saveModelFolder(
        to,
        { config, parameters },
        {
          type: type as "f32" | "f16" | "bf16",
          companionsFrom: folder,
        },
      );
    }
    if (!tokenizer) out.note(`${from} has no tokenizer here; ${to} has none either`);
    return { json: { from, to, type, tokenizer }, text: `${to} written as ${type}` };
  },
});
