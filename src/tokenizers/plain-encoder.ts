/**
 * Plain text to ids, in which no special token can arise. Hugging Face's `encode` looks for added tokens in every text first;
 * here the pre-tokenizer and the model are called directly, so `<|im_end|>` in a web page is nine ordinary characters.
 * Some models (Unigram, WordPiece, BPE with `ignore_merges`) have special strings in their ordinary vocabulary; where one
 * comes out anyway, its string is broken after the first character and both halves are encoded on their own.
 * For byte-level BPE the ids of each word are remembered: texts repeat words, and merging is the slow part.
 */
import { Tokenizer as Library } from "@huggingface/tokenizers";
import { CoaError } from "../core/errors.ts";
import { inTime, isSimple } from "../core/in-time.ts";
import { specialPattern, toByteLevel } from "./byte-level.ts";
import { type ComponentJson, flattenComponent, type TokenizerConfig, type TokenizerJson } from "./tokenizer-json.ts";

/** The library's model is typed as a base class that hides what every model has. */
interface LibraryModel {
  tokens_to_ids: Map<string, number>;
  unk_token_id?: number;
  (tokens: string[]): string[];
}

export interface PlainEncoder {
  /** Ids of text whose special strings count as ordinary characters; every byte of the text is in them. */
  encode(text: string): number[];
  /** The same after the tokenizer's normalizer, as servers encode prompts. */
  encodeNormalized(text: string): number[];
}

const rememberedWords = 200_000;

/** Makes the encoder of a tokenizer; `specials` are the strings, and their ids, that plain text must never become. */
export function plainEncoder(
  json: TokenizerJson,
  config: TokenizerConfig,
  library: Library,
  specials: ReadonlyMap<string, number>,
  maxMs?: number,
): PlainEncoder {
  const model = library.model as unknown as LibraryModel;
  const forbidden = new Set(specials.values());
  const pattern = specialPattern(specials.keys());
  const idOf = (token: string): number => {
    const id = model.tokens_to_ids.get(token) ?? model.unk_token_id;
    if (id === undefined)
      throw new CoaError("format", `the vocabulary has no token "${token.slice(0, 80)}" and no unknown token`);
    return id;
  };
  const words = wordSplitter(json, config);
  const remembered = new Map<string, readonly number[]>();

  function encodeWord(word: string): readonly number[] {
    const known = remembered.get(word);
    if (known) return known;
    const ids = model([toByteLevel(word)]).map(idOf);
    // Forgetting everything at once is cheaper than keeping an order, and rare.
    if (remembered.size >= rememberedWords) remembered.clear();
    if (word.length <= 64) remembered.set(word, ids);
    return ids;
  }

  function encodeUnguarded(text: string): number[] {
    const ids: number[] = [];
    if (words) for (const word of words(text)) for (const id of encodeWord(word)) ids.push(id);
    else {
      const parts = library.pre_tokenizer ? library.pre_tokenizer.pre_tokenize(text) : [text];
      for (const token of model(parts)) ids.push(idOf(token));
    }
    return ids;
  }

  function encodeGuarded(text: string): number[] {
    if (text === "") return [];
    const ids = encodeUnguarded(text);
    if (forbidden.size === 0 || !ids.some((id) => forbidden.has(id))) return ids;
    const found = pattern ? text.search(pattern) : -1;
    if (found === -1 || text.length < 2) return ids.filter((id) => !forbidden.has(id));
    const cut = found + 1;
    return [...encodeGuarded(text.slice(0, cut)), ...encodeGuarded(text.slice(cut))];
  }

  const normalize = (text: string): string => (library.normalizer ? library.normalizer.normalize(text) : text);
  const growing = flattenComponent(json.normalizer).filter(({ type }) => type === "Replace" || type === "Prepend");
  const small = growing.length <= 3 && growing.every((step) => String(step["content"] ?? step["prepend"]).length <= 4);
  const simple = small && patternsOf([json.normalizer, json.pre_tokenizer]).every(isSimple);
  const guarded = (text: string, work: () => number[]) => inTime(text, simple, work, maxMs);
  const lossless = flattenComponent(json.normalizer).every((part) => unicodeForms.has(part.type));
  return {
    // A Unicode form changes bytes and nothing else, so leaving it out keeps exactly what was written; any other
    // normalizer (SentencePiece's space replacement) is part of how the vocabulary works.
    encode: (text) => guarded(text, () => encodeGuarded(lossless ? text : normalize(text))),
    encodeNormalized: (text) => guarded(text, () => encodeGuarded(normalize(text))),
  };
}

/** The patterns by which a tokenizer looks through a text. */
function patternsOf(components: readonly (ComponentJson | null | undefined)[]): string[] {
  return components.flatMap(flattenComponent).flatMap(({ pattern }) => {
    const regex = (pattern as { Regex?: unknown } | undefined)?.Regex;
    return typeof regex === "string" ? [regex] : [];
  });
}

const unicodeForms = new Set(["NFC", "NFD", "NFKC", "NFKD"]);

/** The words of a text before they become bytes, for tokenizers whose last step is byte-level; undefined for others. */
function wordSplitter(json: TokenizerJson, config: TokenizerConfig): ((text: string) => string[]) | undefined {
  const steps = flattenComponent(json.pre_tokenizer);
  const last = steps.at(-1);
  if (json.model.type !== "BPE" || last?.type !== "ByteLevel") return undefined;
  if (last["add_prefix_space"] === true || steps.length < 2 || last["use_regex"] !== false) return undefined;
  const before: ComponentJson = { type: "Sequence", pretokenizers: steps.slice(0, -1) };
  // An empty model is enough: this instance only splits.
  const splitter = new Library(
    { ...json, added_tokens: [], model: { type: "BPE", vocab: {}, merges: [] }, pre_tokenizer: before },
    config,
  );
  return (text) => splitter.pre_tokenizer?.pre_tokenize(text) ?? [text];
}
