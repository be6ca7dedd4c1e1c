/** A model's own chat template, so that raw completions begin exactly as the model was trained. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";

export type RenderPrompt = (prompt: readonly Message[]) => string;

/** Compiles a Jinja chat template; it is rendered up to where the model starts writing. */
export async function chatTemplate(source: string, specials: Record<string, string> = {}): Promise<RenderPrompt> {
  const { Template } = await import("@huggingface/jinja");
  const template = new Template(source);
  return (prompt) => {
    try {
      return template.render({ ...specials, messages: prompt as never, add_generation_prompt: true });
    } catch (error) {
      throw new CoaError("model", `the chat template cannot be rendered: ${messageOf(error)}`, { cause: error });
    }
  };
}

/** The template of a model folder in Hugging Face layout. */
export async function chatTemplateOf(folder: string): Promise<RenderPrompt> {
  const config = JSON.parse(await readFile(join(folder, "tokenizer_config.json"), "utf8")) as Record<string, unknown>;
  const own = await readFile(join(folder, "chat_template.jinja"), "utf8").catch(() => undefined);
  const source = own ?? config["chat_template"];
  if (typeof source !== "string") throw new CoaError("model", `${folder} has no chat template (tokenizer_config.json)`);
  const token = (name: string) => {
    const value = config[name] as string | { content?: string } | undefined | null;
    return typeof value === "string" ? value : (value?.content ?? "");
  };
  return chatTemplate(source, { bos_token: token("bos_token"), eos_token: token("eos_token") });
}
