/**
 * A byte-level BPE tokenizer as GGUF has it (all token strings by id, their kinds, and the merges) and as Hugging Face has it
 * (`tokenizer.json`, `tokenizer_config.json`, `generation_config.json`), both ways.
 */
import { join } from "node:path";
import { readJson } from "../../../base/files/read-json.ts";
import { CoaError } from "../../../core/errors.ts";
import { asObject, parseJson } from "../../../core/json-value.ts";
import type { GgufMetadata, GgufValue } from "./gguf-format.ts";

/** A part of `tokenizer.json`: a type and what that type needs. */
interface Component {
  type: string;
  pretokenizers?: Component[];
  pattern?: { Regex?: string };
  use_regex?: boolean;
  [key: string]: unknown;
}

const gpt2Pattern = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const qwen2Pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const llama3Pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
/** Of the tokenizers trained here. llama.cpp's nearest (digits apart, then GPT-2) differs only after an apostrophe: `'sun`. */
const ownPattern = String.raw`\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const byteLevel: Component = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
const digitsApart: Component = { type: "Digits", individual_digits: true };

function split(pattern: string): Component[] {
  return [
    { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
    { ...byteLevel, trim_offsets: false, use_regex: false },
  ];
}

interface Described {
  steps: Component[];
  /** Words that are tokens themselves are taken whole, whatever the merges say. */
  ignoreMerges?: true;
}

const described: Readonly<Record<string, Described>> = {
  "gpt-2": { steps: [byteLevel] },
  default: { steps: [byteLevel] },
  smollm: { steps: [digitsApart, byteLevel] },
  starcoder: { steps: [digitsApart, byteLevel] },
  qwen2: { steps: split(qwen2Pattern) },
  "llama-bpe": { steps: split(llama3Pattern), ignoreMerges: true },
};

/** What a name of llama.cpp stands for in `tokenizer.json`. */
function describedPreTokenizer(name: string, path: string) {
  const found = described[name];
  if (!found)
    throw new CoaError(
      "format",
      `${path} splits text as "${name}"; ${Object.keys(described).join(", ")} are known here: use the model's folder`,
    );
  const { steps, ignoreMerges = false } = found;
  const [only, ...more] = steps;
  return {
    ignoreMerges,
    preTokenizer: more.length === 0 ? only! : { type: "Sequence", pretokenizers: steps },
  };
}

/** llama.cpp's name for the pre-tokenizer of a `tokenizer.json`. */
function preTokenizerName(component: Component | null | undefined, path: string): string {
  const parts = flatten(component);
  const types = parts.map(({ type }) => type).join(" ");
  const pattern = parts.find((part) => part.type === "Split")?.pattern?.Regex;
  if (pattern === qwen2Pattern) return "qwen2";
  if (pattern === llama3Pattern) return "llama-bpe";
  if (pattern === ownPattern) return "starcoder";
  if (pattern === gpt2Pattern) return "gpt-2";
  const splitsWords = parts.at(-1)?.use_regex !== false;
  if (types === "ByteLevel" && splitsWords) return "gpt-2";
  if (types === "Digits ByteLevel" && splitsWords && parts[0]?.["individual_digits"] === true) return "smollm";
  const what = pattern === undefined ? `its pre-tokenizer (${types || "none"})` : `the pattern ${pattern}`;
  throw new CoaError("format", `${path}: ${what} has no name in llama.cpp, so a GGUF would split text differently`);
}

function flatten(component: Component | null | undefined): Component[] {
  if (!component) return [];
  return component.type === "Sequence" ? (component.pretokenizers ?? []).flatMap(flatten) : [component];
}

interface TokenizerFile {
  model?: { type?: string; vocab?: Record<string, number>; merges?: (string | [string, string])[] };
  added_tokens?: { id: number; content: string; special?: boolean }[];
  pre_tokenizer?: Component | null;
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

export interface TokenizerFiles {
  tokenizer: unknown;
  config: Record<string, unknown>;
  generation: Record<string, unknown>;
}

/** The tokenizer of a GGUF file: the very files where the file carries them, else made from what llama.cpp keeps of them. */
export function tokenizerFilesOf(metadata: GgufMetadata, path: string): TokenizerFiles {
  const [tokenizer, config, generation] = [tokenizerKey, configKey, generationKey].map((key) =>
    parseJson(metadata.get(key)),
  );
  if (tokenizer === undefined || config === undefined) return describedFiles(metadata, path);
  return { tokenizer, config: asObject(config) ?? {}, generation: asObject(generation) ?? {} };
}

/** Ids that end a turn, as a generation configuration names them. */
export function endsOfTurn(generation: Readonly<Record<string, unknown>>): number[] {
  return [generation["eos_token_id"]].flat().filter((id): id is number => typeof id === "number");
}

function describedFiles(metadata: GgufMetadata, path: string): TokenizerFiles {
  const text = (key: string) => String(metadata.get(`tokenizer.ggml.${key}`) ?? "");
  const list = (key: string) => metadata.get(`tokenizer.ggml.${key}`) as (string | number)[] | undefined;
  const tokens = list("tokens") as string[] | undefined;
  const merges = list("merges") as string[] | undefined;
  if (text("model") !== "gpt2" || !tokens || !merges)
    throw new CoaError(
      "format",
      `${path} has a tokenizer of kind "${text("model")}"; byte-level BPE ("gpt2") is read here: use the model's folder`,
    );
  const { preTokenizer, ignoreMerges } = describedPreTokenizer(text("pre") || "default", path);
  const types = (list("token_type") as number[] | undefined) ?? tokens.map(() => kinds.normal);
  const vocab: Record<string, number> = {};
  const added: Record<string, unknown>[] = [];
  for (const [id, content] of tokens.entries()) {
    const kind = types[id];
    if (kind === kinds.unused) continue;
    // Special tokens too: Hugging Face's library gives one that is not in the vocabulary an id of its own choice.
    vocab[content] = id;
    if (kind !== kinds.normal)
      added.push({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: kind !== kinds.userDefined,
      });
  }
  const idOf = (name: string) => metadata.get(`tokenizer.ggml.${name}_token_id`);
  const tokenOf = (name: string) => tokens[Number(idOf(name) ?? -1)];
  const template = metadata.get("tokenizer.chat_template");
  const ends = ["eos", "eot"].map(idOf).filter((id) => typeof id === "number");
  return {
    tokenizer: {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
      // Hugging Face's Qwen2 files compose characters first (NFC); llama.cpp and transformers' reader of GGUF don't.
      normalizer: null,
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: ignoreMerges,
        vocab,
        merges: merges.map((merge) => merge.split(" ")),
      },
    },
    config: {
      tokenizer_class: "PreTrainedTokenizerFast",
      clean_up_tokenization_spaces: false,
      add_bos_token: metadata.get("tokenizer.ggml.add_bos_token") === true,
      bos_token: tokenOf("bos") ?? null,
      eos_token: tokenOf("eos") ?? null,
      pad_token: tokenOf("padding") ?? tokenOf("eos") ?? null,
      unk_token: tokenOf("unknown") ?? null,
      ...(typeof template === "string" ? { chat_template: template } : {}),
    },
    generation: {
      ...(idOf("bos") === undefined ? {} : { bos_token_id: idOf("bos") }),
      eos_token_id: [...new Set(ends)],
      ...(idOf("padding") === undefined ? {} : { pad_token_id: idOf("padding") }),
    },
  };
}

function textOf(token: unknown): string | undefined {
  return typeof token === "string" ? token : (token as { content?: string } | null | undefined)?.content;
}

/** `<answer>` and `</answer>` are tags; `<|end|>` is a mark of the conversation's form. */
const isTag = (text: string) => /^<\/?[a-z][\w-]*>$/i.test(text);
