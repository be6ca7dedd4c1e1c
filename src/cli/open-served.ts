/**
 * A model of ours behind a server: its folder or its GGUF file says how it was taught (`coa.json`, or `coa.use` in
 * the file), which ids its texts have, and how long its window is, so the server gets exactly what the model was trained on.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readModelUse } from "../base/files/model-use-file.ts";
import { jsonIn, readJsonIfThere } from "../base/files/read-json.ts";
import { CoaError } from "../core/errors.ts";
import { asNumber, asObject } from "../core/json-value.ts";
import { type ModelUse, modelUseSchema } from "../core/model-use.ts";
import type { OpenAICompatibleOptions } from "../models/openai-compatible.ts";

export interface ServedModel {
  /** What the client is to be opened with. */
  client: Pick<OpenAICompatibleOptions, "tokenizer" | "chatTemplate" | "contextWindow">;
  use?: ModelUse;
}

/** Reads a model folder of any architecture. */
export async function servedFolder(folder: string): Promise<ServedModel> {
  const [{ loadTokenizer }, { chatTemplateOf }] = await Promise.all([
    import("../tokenizers/load-tokenizer.ts"),
    import("../tokenizers/chat-template.ts"),
  ]);
  const use = await readModelUse(folder);
  const config = asObject(await readJsonIfThere(join(folder, "config.json")));
  const contextWindow = asNumber(config?.["max_position_embeddings"]);
  if (!existsSync(join(folder, "tokenizer.json"))) return { client: { contextWindow }, use };
  return {
    client: { tokenizer: await loadTokenizer(folder), chatTemplate: await chatTemplateOf(folder), contextWindow },
    use,
  };
}

/** Reads what a GGUF file holds beside its numbers: tokenizer, template, window, and the use of a model of ours. */
export async function servedGguf(path: string): Promise<ServedModel> {
  const [{ readGguf }, { endsOfTurn, tokenizerFilesOf }, { tokenizerFromJson }, { textTemplate }] = await Promise.all([
    import("../engines/embedded/files/gguf-format.ts"),
    import("../engines/embedded/files/gguf-tokenizer.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../tokenizers/chat-template.ts"),
  ]);
  const { metadata } = await readGguf(path);
  const window = metadata.get(`${metadata.get("general.architecture")}.context_length`);
  const contextWindow = typeof window === "number" ? window : undefined;
  const use = useIn(metadata.get("coa.use"), path);
  const template = metadata.get("tokenizer.chat_template");
  const chatTemplate = typeof template === "string" ? textTemplate(template) : undefined;
  try {
    const { tokenizer, config, generation } = tokenizerFilesOf(metadata, path);
    const client = { tokenizer: tokenizerFromJson(tokenizer, config, { endOfTurn: endsOfTurn(generation) }) };
    return { client: { ...client, chatTemplate, contextWindow }, use };
  } catch (error) {
    // A tokenizer of another kind: the server's text is read without its ids.
    if (!(error instanceof CoaError)) throw error;
    return { client: { chatTemplate, contextWindow }, use };
  }
}

function useIn(text: unknown, path: string): ModelUse | undefined {
  if (typeof text !== "string") return undefined;
  const parsed = modelUseSchema.safeParse(jsonIn(text, `coa.use of ${path}`));
  if (parsed.success) return parsed.data;
  throw new CoaError("format", `${path}: coa.use does not say how the model is used`);
}
