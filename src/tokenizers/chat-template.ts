/**
 * Chat templates write role markers around messages, and a message may contain text that looks like a marker. Here such
 * text is hidden before the template runs: each special string inside a message becomes one unused private character.
 * Where the prompt is tokenised here, it comes back as ordinary characters once the template's own markers are known;
 * where the prompt is sent as text, and for markers that are plain text themselves (`[INST]`, `USER:`), it comes back
 * in a harmless form. So a question can't fake a turn, and a harmless message is rendered exactly as the template says.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readJsonIfThere } from "../base/files/read-json.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { boundedTemplate } from "./bounded-template.ts";
import { defaultTemplate, tokenizerConfigSchema, tokenString } from "./tokenizer-json.ts";

/** A piece of a rendered prompt: written by the template (special strings count) or part of a message (they don't). */
export interface RenderedPrompt {
  text: string;
  /** Puts the hidden strings of messages back, for an encoder that takes no special strings. */
  restore(text: string): string;
  /** The whole prompt with nothing in its messages that a reader of text could take for a marker. */
  harmless(): string;
}

export interface ChatTemplate {
  render(messages: readonly Message[], specials?: Iterable<string>): RenderedPrompt;
}

/** A prompt as text, up to where the model starts writing. */
export type RenderPrompt = (prompt: readonly Message[]) => string;

/** Strings that are special in some widespread model, whatever this one's configuration names. */
const anySpecial = /<\|[^<>|\s]{1,60}\|>|<｜[^<>｜]{1,60}｜>|<\/?s>|<(?:start|end)_of_turn>|<(?:bos|eos)>|\[\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<<\/?SYS>>/g; // biome-ignore format: one list

/** Compiles a Jinja chat template. `variables` are what the configuration offers it: `bos_token`, `eos_token`… */
export function chatTemplate(source: string, variables: Record<string, string | undefined> = {}): ChatTemplate {
  let template: ReturnType<typeof boundedTemplate>;
  try {
    template = boundedTemplate(source);
  } catch (error) {
    throw new CoaError("format", `the chat template can't be read: ${messageOf(error)}`, { cause: error });
  }
  const fill = (messages: readonly Message[]) =>
    template({ ...variables, messages: messages.map(templateMessage), add_generation_prompt: true });
  let markers: readonly string[] | undefined;
  return {
    render(messages, specials = []) {
      markers ??= plainMarkers(fill);
      const hiding = hide(messages, specials, markers);
      try {
        const text = fill(hiding.messages);
        return { text, restore: hiding.restore, harmless: () => hiding.harmless(text) };
      } catch (error) {
        throw new CoaError("format", `the chat template refused the messages: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

export function textTemplate(source: string, variables: Record<string, string | undefined> = {}): RenderPrompt {
  const template = chatTemplate(source, variables);
  const specials = Object.values(variables).filter((token) => token !== undefined && token !== "") as string[];
  return (prompt) => template.render(prompt, specials).harmless();
}

/** The template of a model folder in Hugging Face layout, for servers that take the prompt as text. */
export async function chatTemplateOf(folder: string): Promise<(prompt: readonly Message[]) => string> {
  return textTemplate(...(await templateIn(folder)));
}

/** The text of a folder's template, and the variables that its configuration offers it. */
export async function templateIn(folder: string): Promise<[source: string, variables: Record<string, string>]> {
  const config = tokenizerConfigSchema.parse((await readJsonIfThere(join(folder, "tokenizer_config.json"))) ?? {});
  const own = await readFile(join(folder, "chat_template.jinja"), "utf8").catch(() => undefined);
  const source = own ?? defaultTemplate(config);
  if (source === undefined) throw new CoaError("model", `${folder} has no chat template (tokenizer_config.json)`);
  const { bos_token, eos_token } = config;
  return [source, { bos_token: tokenString(bos_token) ?? "", eos_token: tokenString(eos_token) ?? "" }];
}

/** What the template itself writes around messages, as far as it is plain text: found by rendering marked messages. */
function plainMarkers(fill: (messages: readonly Message[]) => string): string[] {
  const mark = "\u{f1fff}";
  const conversation = (roles: readonly Message["role"][]) => roles.map((role) => ({ role, content: mark }));
  const found = new Set<string>();
  const probes: Message["role"][][] = [
    ["system", "user", "assistant", "user"],
    ["user", "assistant", "user"],
    ["user"],
  ];
  for (const roles of probes) {
    let text: string;
    try {
      text = fill(conversation(roles));
    } catch {
      continue; // a template may refuse system messages; the others tell enough
    }
    for (const line of text.split(/\u{f1fff}|\n/u)) {
      const marker = line.replace(anySpecial, "").trim();
      if (marker.length >= 3 && marker.length <= 60 && /[<>[\]|#:]/.test(marker)) found.add(marker);
    }
  }
  return [...found];
}

function templateMessage(message: Message): Record<string, unknown> {
  const result: Record<string, unknown> = { role: message.role, content: message.content };
  if (message.reasoning !== undefined) result["reasoning_content"] = message.reasoning;
  if (message.name !== undefined) result["name"] = message.name;
  if (message.toolCallId !== undefined) result["tool_call_id"] = message.toolCallId;
  if (message.toolCalls?.length) {
    result["tool_calls"] = message.toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
  }
  return result;
}

/** The same messages with one private character in the place of each string that could be read as a marker. */
function hide(messages: readonly Message[], specials: Iterable<string>, markers: readonly string[]) {
  const all = messages.flatMap(textsOf).join("\n");
  const found = new Set([...specials, ...(all.match(anySpecial) ?? []), ...markers].filter((one) => all.includes(one)));
  const plain = new Set(markers);
  const hidden = new Map<string, string>();
  let code = 0xf0000; // a plane of private characters
  for (const special of [...found].sort((a, b) => b.length - a.length)) {
    while (all.includes(String.fromCodePoint(code))) code++;
    hidden.set(special, String.fromCodePoint(code++));
  }
  const swap = (text: string, to: (special: string, character: string) => [string, string]) => {
    let result = text;
    for (const [special, character] of hidden) result = result.replaceAll(...to(special, character));
    return result;
  };
  return {
    messages: hidden.size === 0 ? messages : messages.map((one) => mapTexts(one, (text) => swap(text, (special, character) => [special, character]))), // biome-ignore format: one idea
    restore: (text: string) =>
      swap(text, (special, character) => [character, plain.has(special) ? defused(special) : special]),
    harmless: (text: string) => swap(text, (special, character) => [character, defused(special)]),
  };
}

/** A marker in look-alike characters: readable, and not the marker. */
function defused(marker: string): string {
  const lookalikes: Record<string, string> = { "<": "‹", ">": "›", "[": "‹", "]": "›", "|": "¦", "｜": "¦", "#": "＃", ":": "꞉" }; // biome-ignore format: a table
  return marker.replaceAll(/[<>[\]|｜#:]/g, (character) => lookalikes[character]!);
}

function textsOf({ content, reasoning = "", name = "", toolCalls = [] }: Message): string[] {
  return [content, reasoning, name, ...toolCalls.flatMap((call) => [call.name, call.arguments])];
}

function mapTexts(message: Message, change: (text: string) => string): Message {
  const { content, reasoning, name, toolCalls } = message;
  return {
    ...message,
    content: change(content),
    ...(reasoning === undefined ? {} : { reasoning: change(reasoning) }),
    ...(name === undefined ? {} : { name: change(name) }),
    ...(toolCalls && {
      toolCalls: toolCalls.map((call) => ({ ...call, name: change(call.name), arguments: change(call.arguments) })),
    }),
  };
}
