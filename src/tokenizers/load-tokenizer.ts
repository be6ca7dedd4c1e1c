/**
 * Any Hugging Face tokenizer as our `Tokenizer`. Three ways to encode, kept separate on purpose: `encode` for text
 * others may have written, `encodeWithSpecials` for text of our own in which tags and markers count, `encodePrompt`
 * for messages through the chat template, where markers count and look-alikes inside messages don't.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Tokenizer as Library } from "@huggingface/tokenizers";
import { readJsonIfThere } from "../base/files/read-json.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import { asObject } from "../core/json-value.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { bytesOfByteLevel, specialPattern } from "./byte-level.ts";
import { chatTemplate } from "./chat-template.ts";
import { plainEncoder } from "./plain-encoder.ts";
import {
  type AddedTokenJson,
  type ComponentJson,
  checkTokenizerJson,
  defaultTemplate,
  flattenComponent,
  type TokenizerConfig,
  type TokenizerJson,
  tokenizerConfigSchema,
  tokenizerJsonSchema,
  tokenString,
} from "./tokenizer-json.ts";

/** Reads `tokenizer.json` with `tokenizer_config.json` and, where it is a file of its own, `chat_template.jinja`. */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const json = await readJsonIfThere(join(folder, "tokenizer.json"));
  if (json === undefined) {
    throw new CoaError("storage", `no tokenizer.json in ${folder}; a model folder in Hugging Face layout has one`);
  }
  const config = ((await readJsonIfThere(join(folder, "tokenizer_config.json"))) ?? {}) as Record<string, unknown>;
  const template = await readText(join(folder, "chat_template.jinja"));
  if (template !== undefined) config["chat_template"] = template;
  const generation = (await readJsonIfThere(join(folder, "generation_config.json"))) as
    | { eos_token_id?: unknown }
    | undefined;
  const ends = [generation?.eos_token_id].flat().filter((id): id is number => typeof id === "number");
  try {
    return tokenizerFromJson(json, config, { endOfTurn: ends });
  } catch (error) {
    if (error instanceof CoaError) throw error;
    throw new CoaError("format", `the tokenizer in ${folder} can't be used: ${messageOf(error)}`, { cause: error });
  }
}

/** Makes a tokenizer from the parsed files. `endOfTurn` adds ids to those that the configuration names; a text is given up after `maxMs`. */
export function tokenizerFromJson(
  tokenizerJson: unknown,
  tokenizerConfig: unknown = {},
  options: { endOfTurn?: readonly number[]; maxMs?: number } = {},
): Tokenizer {
  const parsed = tokenizerJsonSchema.parse(tokenizerJson);
  checkTokenizerJson(parsed);
  const json = { ...parsed, pre_tokenizer: unicodePreTokenizer(parsed.pre_tokenizer) };
  const config = tokenizerConfigSchema.parse(tokenizerConfig);
  const library = new Library({ normalizer: null, post_processor: null, decoder: null, ...json }, config);
  const vocabulary = library.model?.vocab as readonly (string | undefined)[];
  const added = new Map(json.added_tokens.map((token) => [token.content, token]));
  const specialTokens = new Map(json.added_tokens.map((token) => [token.content, token.id]));
  const plain = plainEncoder(json, config, library, specialTokens, options.maxMs);
  const pattern = specialPattern(specialTokens.keys());
  const bytesOf = tokenBytesReader(json, vocabulary);
  const byteLevel = flattenComponent(json.decoder).some((part) => part.type === "ByteLevel");

  function encodeParts(text: string, encodePlain: (part: string) => number[]): number[] {
    const ids: number[] = [];
    for (const part of splitSpecials(text, pattern, added)) {
      const id = part.special ? specialTokens.get(part.text) : undefined;
      if (id !== undefined) ids.push(id);
      else for (const token of encodePlain(part.text)) ids.push(token);
    }
    return ids;
  }

  const source = defaultTemplate(config);
  const variables = {
    bos_token: tokenString(config.bos_token),
    eos_token: tokenString(config.eos_token),
    pad_token: tokenString(config.pad_token),
    unk_token: tokenString(config.unk_token),
  };
  const endOfTurn = endsOfTurn(config, specialTokens, source, options.endOfTurn);
  const template = source === undefined ? undefined : chatTemplate(source, variables);
  return {
    vocabularySize: Math.max(vocabulary.length, ...[...specialTokens.values()].map((id) => id + 1)),
    specialTokens,
    endOfTurn,
    specialToken: (text) => specialTokens.get(text),
    tokenBytes: bytesOf,
    encode: (text) => plain.encode(text),
    encodeWithSpecials: (text) => encodeParts(text, plain.encode),
    decode(tokens) {
      if (tokens.length === 0) return "";
      if (byteLevel) return decodeBytes(tokens, bytesOf);
      return library.decode([...tokens], { clean_up_tokenization_spaces: false });
    },
    encodePrompt(prompt) {
      if (!template)
        throw new CoaError("format", "this tokenizer has no chat template; add one to tokenizer_config.json");
      const rendered = template.render(prompt, specialTokens.keys());
      return encodeParts(rendered.text, (part) => plain.encodeNormalized(rendered.restore(part)));
    },
    save: (folder) =>
      saveTokenizer(folder, tokenizerJson, tokenizerConfig as Record<string, unknown>, { endOfTurn, specialTokens }),
  };
}

/** Ids that end the model's turn: the configured end of sequence, and the markers that the template closes turns with. */
function endsOfTurn(
  config: TokenizerConfig,
  specials: ReadonlyMap<string, number>,
  template: string | undefined,
  more: readonly number[] = [],
): number[] {
  const ends = new Set<number>();
  const end = specials.get(tokenString(config.eos_token) ?? "");
  if (end !== undefined) ends.add(end);
  for (const marker of ["<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>"]) {
    const id = specials.get(marker);
    if (id !== undefined && template?.includes(marker)) ends.add(id);
  }
  for (const id of more) ends.add(id);
  return [...ends];
}

/** Exact bytes of each token: byte-level alphabet, SentencePiece's space and byte tokens, or the token's own text. */
function tokenBytesReader(json: TokenizerJson, vocabulary: readonly (string | undefined)[]) {
  const encoder = new TextEncoder();
  const specialText = new Map(json.added_tokens.map((token) => [token.id, token.content]));
  const decoders = flattenComponent(json.decoder).map((part) => part.type);
  const byteLevel = decoders.includes("ByteLevel");
  const cache: Uint8Array[] = []; // [token]
  function read(token: number): Uint8Array {
    const special = specialText.get(token);
    if (special !== undefined) return encoder.encode(special);
    const text = vocabulary[token];
    if (text === undefined) throw new CoaError("format", `token ${token} is not in the vocabulary`);
    if (byteLevel) return bytesOfByteLevel(text) ?? encoder.encode(text);
    const byte = /^<0x([0-9A-F]{2})>$/.exec(text);
    if (byte && decoders.includes("ByteFallback")) return Uint8Array.of(Number.parseInt(byte[1]!, 16));
    return encoder.encode(text.replaceAll("\u2581", " "));
  }
  return (token: number): Uint8Array => (cache[token] ??= read(token));
}

function decodeBytes(tokens: readonly number[], bytesOf: (token: number) => Uint8Array): string {
  const parts = tokens.map(bytesOf);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Cuts a text at its special strings, and strips white space beside those that ask for it. */
function splitSpecials(text: string, pattern: RegExp | undefined, added: ReadonlyMap<string, AddedTokenJson>) {
  const parts: { text: string; special: boolean }[] = [];
  let from = 0;
  let stripNext = false;
  const addPlain = (plain: string, stripEnd: boolean) => {
    let kept = stripNext ? plain.trimStart() : plain;
    if (stripEnd) kept = kept.trimEnd();
    if (kept !== "") parts.push({ text: kept, special: false });
  };
  for (const match of pattern ? text.matchAll(pattern) : []) {
    const token = added.get(match[0]);
    addPlain(text.slice(from, match.index), token?.lstrip === true);
    parts.push({ text: match[0], special: true });
    stripNext = token?.rstrip === true;
    from = match.index + match[0].length;
  }
  addPlain(text.slice(from), false);
  return parts;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CoaError("storage", `can't read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * A tokenizer's files beside a model's weights, so that other programs read the model as we do: the window as the model has it,
 * every special token named (a class that finds one unnamed adds its own, one id beyond the vocabulary), and what ends a turn, without
 * which generation never stops.
 */
export async function saveTokenizer(
  folder: string,
  tokenizerJson: unknown,
  config: Readonly<Record<string, unknown>>,
  ids: { endOfTurn: readonly number[]; specialTokens: ReadonlyMap<string, number> },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const window = asObject(await readJsonIfThere(join(folder, "config.json")))?.["max_position_embeddings"];
  const unknown = config["unk_token"] ?? config["pad_token"] ?? config["eos_token"];
  const completed = {
    bos_token: null,
    ...config,
    ...(unknown === undefined ? {} : { unk_token: unknown }),
    ...(typeof window === "number" ? { model_max_length: window } : {}),
  };
  await writeFile(join(folder, "tokenizer.json"), `${JSON.stringify(tokenizerJson, null, 1)}\n`);
  await writeJson(join(folder, "tokenizer_config.json"), completed);
  const generation = join(folder, "generation_config.json");
  if (ids.endOfTurn.length === 0 || (await readJsonIfThere(generation))) return;
  const named = config["pad_token"] as string | { content?: string } | null | undefined;
  const pad = ids.specialTokens.get((typeof named === "string" ? named : named?.content) ?? "");
  await writeJson(generation, {
    eos_token_id: ids.endOfTurn.length === 1 ? ids.endOfTurn[0] : [...ids.endOfTurn],
    ...(pad === undefined ? {} : { pad_token_id: pad }),
  });
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** What byte-level steps split by where they are asked to split. */
const gpt2Pattern = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const classes: Readonly<Record<string, string>> = {
  "\\s": "\\p{White_Space}",
  "\\S": "\\P{White_Space}",
  "\\d": "\\p{Nd}",
  "\\D": "\\P{Nd}",
};

function splitBy(pattern: string, behavior: unknown = "Isolated", invert: unknown = false): ComponentJson {
  const Regex = pattern.replace(/\\./gs, (part) => classes[part] ?? part);
  return { type: "Split", pattern: { Regex }, behavior, invert };
}

/**
 * Pre-tokenizers as their files mean them. Hugging Face's are run by Rust, where `\s` and `\d` are Unicode's classes and `Digits`
 * splits off every number character; in JavaScript `\d` is ASCII and `\s` has U+FEFF and lacks U+0085. Here each step becomes
 * a split by a pattern in which the classes are written out, so that both give the same words.
 */
export function unicodePreTokenizer(component: ComponentJson | null | undefined): ComponentJson | null {
  const steps = flattenComponent(component).flatMap((step): ComponentJson[] => {
    if (step.type === "Digits") return [splitBy(step["individual_digits"] === true ? "\\p{N}" : "\\p{N}+")];
    if (step.type === "ByteLevel" && step["use_regex"] !== false && step["add_prefix_space"] !== true)
      return [splitBy(gpt2Pattern), { ...step, use_regex: false }];
    const regex = (step["pattern"] as { Regex?: unknown } | undefined)?.Regex;
    if (step.type === "Split" && typeof regex === "string") return [splitBy(regex, step["behavior"], step["invert"])];
    return [step];
  });
  return steps.length === 0 ? null : { type: "Sequence", pretokenizers: steps };
}
