/** Opens the model that the settings name: a folder runs in the embedded engine here, a name runs behind a server. */

import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { readModelUse } from "../base/files/model-use-file.ts";
import { jsonIn, readJsonIfThere } from "../base/files/read-json.ts";
import { CoaError } from "../core/errors.ts";
import { asNumber, asObject } from "../core/json-value.ts";
import type { ChatModel, Model } from "../core/model.ts";
import { type ModelUse, modelUseSchema } from "../core/model-use.ts";
import type { EmbeddedEngineOptions } from "../engines/embedded/embedded-engine.ts";
import { type OpenAICompatibleOptions, openaiCompatible } from "../models/openai-compatible.ts";
import { findModel } from "./find-model.ts";
import type { Session } from "./session.ts";
import type { Section } from "./settings/index.ts";

export interface OpenModel {
  model: Model & Partial<ChatModel>;
  /** Present where the model answers messages: a server. */
  chat?: ChatModel;
  /** The folder it was read from; absent for a server's model. */
  folder?: string;
  /** How it was taught and is to be used, where its folder says so. */
  use?: ModelUse;
}

/** Opens a model for running chains. */
export async function openModel(
  settings: Section<"model">,
  session: Session,
  options: { lab: boolean },
): Promise<OpenModel> {
  const found = await findModel(settings, options);
  if (found.kind === "folder") {
    const { model, engine } = await openFolder(found.folder, { precision: settings.precision });
    session.closeAtEnd(engine);
    if (settings.name === undefined) session.note(`Using the shipped model ${basename(found.folder)}.`);
    return { model, folder: found.folder, use: await readModelUse(found.folder) };
  }
  const { mode } = settings;
  const { files } = found;
  const served = files === undefined ? undefined : await (files.endsWith(".gguf") ? servedGguf : servedFolder)(files);
  const client = openaiCompatible({
    baseURL: found.baseURL,
    // What names files here is not a name there: the server's own model is meant.
    model: files === undefined ? found.name : undefined,
    mode,
    onNote: session.note,
    ...served?.client,
    ...(mode === "turns" || mode === "continue" ? { tokenizer: undefined, chatTemplate: undefined } : {}),
  });
  session.closeAtEnd(client);
  return { model: client, chat: client, use: served?.use };
}

/** Opens a model folder with its engine and tokenizer, for training or for running. */
export async function openFolder(folder: string, options: Omit<EmbeddedEngineOptions, "folder" | "config"> = {}) {
  const [{ openEmbeddedEngine }, { loadTokenizer }, { engineModel }] = await Promise.all([
    import("../engines/embedded/embedded-engine.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../models/engine-model.ts"),
  ]);
  const [engine, tokenizer] = await Promise.all([openEmbeddedEngine({ ...options, folder }), loadTokenizer(folder)]);
  const name = basename(resolve(folder));
  return { engine, tokenizer, model: engineModel(engine, tokenizer, { name }) };
}

export interface ServedModel {
  client: Pick<OpenAICompatibleOptions, "tokenizer" | "chatTemplate" | "contextWindow">;
  use?: ModelUse;
}

/**
 * A model of ours behind a server: its folder or its GGUF file says how it was taught (`coa.json`, or `coa.use` in
 * the file), which ids its texts have, and how long its window is, so the server gets exactly what the model was trained on.
 */
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
