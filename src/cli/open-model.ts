/** Opens the model that the settings name: a folder runs in the embedded engine here, a name runs behind a server. */
import { basename, resolve } from "node:path";
import { readModelUse } from "../base/files/model-use-file.ts";
import type { Engine } from "../core/engine.ts";
import type { ChatModel, Model } from "../core/model.ts";
import type { ModelUse } from "../core/model-use.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { EmbeddedEngineOptions } from "../engines/embedded/embedded-engine.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import { findModel } from "./find-model.ts";
import { type ServedModel, servedFolder, servedGguf } from "./open-served.ts";
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

export interface OpenFolder {
  engine: Engine;
  tokenizer: Tokenizer;
  model: Model;
}

/** Opens a model for running chains. */
export async function openModel(
  settings: Section<"model">,
  session: Session,
  options: { lab: boolean },
): Promise<OpenModel> {
  const found = await findModel(settings, options);
  if (found.kind === "folder") {
    const { model, engine } = await openFolder(found.folder);
    session.closeAtEnd(engine);
    if (settings.name === undefined) session.note(`Using the shipped model ${basename(found.folder)}.`);
    return { model, folder: found.folder, use: await readModelUse(found.folder) };
  }
  const { mode } = settings;
  const served = await servedModel(found.files);
  const client = openaiCompatible({
    baseURL: found.baseURL,
    // What names files here is not a name there: the server's own model is meant.
    model: found.files === undefined ? found.name : undefined,
    mode,
    onNote: session.note,
    ...served?.client,
    ...(mode === "turns" || mode === "continue" ? { tokenizer: undefined, chatTemplate: undefined } : {}),
  });
  session.closeAtEnd(client);
  return { model: client, chat: client, use: served?.use };
}

async function servedModel(files: string | undefined): Promise<ServedModel | undefined> {
  if (files === undefined) return undefined;
  return files.endsWith(".gguf") ? servedGguf(files) : servedFolder(files);
}

/** Opens a model folder with its engine and tokenizer, for training or for running. */
export async function openFolder(
  folder: string,
  options: Omit<EmbeddedEngineOptions, "folder" | "config"> = {},
): Promise<OpenFolder> {
  const [{ openEmbeddedEngine }, { loadTokenizer }, { engineModel }] = await Promise.all([
    import("../engines/embedded/embedded-engine.ts"),
    import("../tokenizers/load-tokenizer.ts"),
    import("../models/engine-model.ts"),
  ]);
  const [engine, tokenizer] = await Promise.all([openEmbeddedEngine({ ...options, folder }), loadTokenizer(folder)]);
  const name = basename(resolve(folder));
  return { engine, tokenizer, model: engineModel(engine, tokenizer, { name }) };
}
