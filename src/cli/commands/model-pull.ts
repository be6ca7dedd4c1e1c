import { openWorkspace } from "../../base/files/workspace.ts";
import { pullModel } from "../../models/hub/pull-model.ts";
import { defineCommand, onePositional } from "../command.ts";
import { megabytes } from "../output.ts";
import { text, toggle } from "../setting.ts";

export default defineCommand({
  examples: [
    "coa model pull Qwen/Qwen2.5-0.5B-Instruct",
    "coa model pull Qwen/Qwen3-0.6B@main --out ./qwen3",
    "coa model pull Qwen/Qwen3-8B --tokenizer-only",
  ],
  summary:
    "Bring a model folder from a hub (Hugging Face, or HF_ENDPOINT): resumes, checks sizes and hashes before the folder appears, keeps revision and licence.",
  arguments: "<owner/name[@revision]>",
  options: {
    out: text("Where to put it (default: models/<name> in the workspace)", { valueName: "folder", group: "output" }),
    "tokenizer-only": toggle("Leave the weights out, for a model that is trained on a server"),
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out, signal }) {
    const [name = "", revision = "main"] = onePositional(positionals, "the name of a model on the hub").split("@");
    const folder = values.out ?? (await openWorkspace()).path("models", name.split("/").at(-1)!);
    const pulled = await pullModel(name, folder, {
      endpoint: process.env["HF_ENDPOINT"],
      token: process.env["HF_TOKEN"] ?? process.env["HUGGING_FACE_HUB_TOKEN"],
      revision,
      withoutWeights: values["tokenizer-only"],
      onProgress: out.progress,
      signal,
    });
    const how = pulled.present
      ? "is here already"
      : `${pulled.files.length} files, ${megabytes(pulled.bytes)}, checked`;
    const licence = pulled.license ?? "not stated: see its page before you use it";
    return {
      json: pulled,
      text: [`${folder}: ${how}`, `${name} at ${pulled.revision}; licence: ${licence}`],
      notes: [`next: coa show ${folder}, or coa up <folder> --student ${folder}`],
    };
  },
});
