/**
 * A byte-level BPE tokenizer (tokenizer.json) in the metadata llama.cpp wants: all token strings by id, their kinds, and
 * the merges. llama.cpp knows pre-tokenizers by name only: GPT-2's, Qwen2's and our own pattern are recognised, anything
 * else is refused rather than exported to split text differently.
 */
import { join } from "node:path";
import { readJson } from "../../../base/files/read-json.ts";
import { CoaError } from "../../../core/errors.ts";
import { asObject, parseJson } from "../../../core/json-value.ts";
import type { GgufMetadata, GgufValue } from "./gguf-format.ts";

interface TokenizerFile {
  model?: { type?: string; vocab?: Record<string, number>; merges?: (string | [string, string])[] };
  added_tokens?: { id: number; content: string; special?: boolean }[];
  pre_tokenizer?: Component | null;
}
interface Component {
  type: string;
  pretokenizers?: Component[];
  pattern?: { Regex?: string };
  use_regex?: boolean;
}

const kinds = { normal: 1, control: 3, userDefined: 4, unused: 5 } as const;

/** Reads a model folder's tokenizer as GGUF metadata, padded to the model's vocabulary. */
export async function ggufTokenizer(folder: string, vocabularySize: number): Promise<Map<string, GgufValue>> {
  const path = join(folder, "tokenizer.json");
  const file = (await readJson(path, "GGUF carries the tokenizer with it")) as TokenizerFile;
  const { vocab, merges = [], type } = file.model ?? {};
  if ((type !== undefined && type !== "BPE") || !vocab)
    throw new CoaError("format", `${path} holds a ${type} tokenizer; only byte-level BPE goes into a GGUF here`);
  const added = file.added_tokens ?? [];
  const tokens = Array.from({ length: vocabularySize }, (_, id) => `[UNUSED_${id}]`);
  const types: number[] = tokens.map(() => kinds.unused);
  const place = (id: number, text: string, kind: number) => {
    if (id >= vocabularySize)
      throw new CoaError(
        "format",
        `${path}: token ${id} ${JSON.stringify(text)} is beyond the model's ${vocabularySize}`,
      );
    tokens[id] = text;
    types[id] = kind;
  };
  for (const [text, id] of Object.entries(vocab)) place(id, text, kinds.normal);
  const config = (await readJson(join(folder, "tokenizer_config.json"), "").catch(() => ({}))) as Record<
    string,
    unknown
  >;
  const generation = (await readJson(join(folder, "generation_config.json"), "").catch(() => ({}))) as Record<
    string,
    unknown
  >;
  // llama.cpp's server leaves control tokens out of what it returns, and tags are what a chain is read by.
  const marks = ["bos_token", "eos_token", "pad_token", "unk_token"].map((key) => textOf(config[key]));
  for (const { id, content, special } of added) {
    const control = special && (marks.includes(content) || !isTag(content));
    place(id, content, control ? kinds.control : kinds.userDefined);
  }
  const idOf = (field: unknown) => {
    const text = textOf(field);
    return added.find(({ content }) => content === text)?.id ?? (text === undefined ? undefined : vocab[text]);
  };
  const metadata = new Map<string, GgufValue>([
    ["tokenizer.ggml.model", { type: "string", value: "gpt2" }],
    ["tokenizer.ggml.pre", { type: "string", value: preTokenizerName(file.pre_tokenizer, path) }],
    ["tokenizer.ggml.tokens", { type: "strings", value: tokens }],
    ["tokenizer.ggml.token_type", { type: "i32s", value: types }],
    [
      "tokenizer.ggml.merges",
      { type: "strings", value: merges.map((merge) => (typeof merge === "string" ? merge : merge.join(" "))) },
    ],
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: config["add_bos_token"] === true }],
  ]);
  const ends = [generation["eos_token_id"]].flat().filter((id): id is number => typeof id === "number");
  const ids = {
    bos: idOf(config["bos_token"]),
    eos: idOf(config["eos_token"]) ?? ends[0],
    padding: idOf(config["pad_token"]),
  };
  for (const [name, id] of Object.entries(ids))
    if (id !== undefined) metadata.set(`tokenizer.ggml.${name}_token_id`, { type: "u32", value: id });
  const template = config["chat_template"];
  if (typeof template === "string") metadata.set("tokenizer.chat_template", { type: "string", value: template });
  // For our own client, which works on the very ids: the files themselves, the first under the key that the format has for it.
  const whole = { [tokenizerKey]: file, [configKey]: config, [generationKey]: generation };
  for (const [key, value] of Object.entries(whole)) metadata.set(key, { type: "string", value: JSON.stringify(value) });
  return metadata;
}

const tokenizerKey = "tokenizer.huggingface.json";
const configKey = "coa.tokenizer_config";
const generationKey = "coa.generation_config";

/** The files of the tokenizer that a GGUF file of ours holds; undefined in other files. */
export function tokenizerFilesOf(
  metadata: GgufMetadata,
): { tokenizer: unknown; config: unknown; endOfTurn: number[] } | undefined {
  const [tokenizer, config, generation] = [tokenizerKey, configKey, generationKey].map((key) =>
    parseJson(metadata.get(key)),
  );
  if (tokenizer === undefined || config === undefined) return undefined;
  const ends = [asObject(generation)?.["eos_token_id"]].flat().filter((id) => typeof id === "number");
  return { tokenizer, config, endOfTurn: ends };
}

function textOf(token: unknown): string | undefined {
  return typeof token === "string" ? token : (token as { content?: string } | null | undefined)?.content;
}

/** `<answer>` and `</answer>` are tags; `<|end|>` is a mark of the conversation's form. */
const isTag = (text: string) => /^<\/?[a-z][\w-]*>$/i.test(text);

const gpt2Pattern = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const qwen2Pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
/** Of the tokenizers trained here. llama.cpp's nearest (digits apart, then GPT-2) differs only after an apostrophe: `'sun`. */
const ownPattern = String.raw`\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

function preTokenizerName(component: Component | null | undefined, path: string): string {
  const parts = flatten(component);
  const pattern = parts.find((part) => part.type === "Split")?.pattern?.Regex;
  if (pattern === qwen2Pattern) return "qwen2";
  if (pattern === ownPattern) return "starcoder";
  if (pattern === gpt2Pattern) return "gpt-2";
  if (pattern === undefined && parts.some((part) => part.type === "ByteLevel" && part.use_regex !== false))
    return parts.some((part) => part.type === "Digits") ? refuse(path, "Digits before ByteLevel") : "gpt-2";
  return refuse(path, pattern === undefined ? "its pre-tokenizer" : `the pattern ${pattern}`);
}

function refuse(path: string, what: string): never {
  throw new CoaError("format", `${path}: ${what} has no name in llama.cpp, so a GGUF would split text differently`);
}

function flatten(component: Component | null | undefined): Component[] {
  if (!component) return [];
  return component.type === "Sequence" ? (component.pretokenizers ?? []).flatMap(flatten) : [component];
}
