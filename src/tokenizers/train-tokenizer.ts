/**
 * Trains a byte-level BPE on given texts. Words are counted once, then the most frequent neighbouring pair becomes one
 * token, again and again, until the vocabulary is full. Equal counts are decided by the older pair, so the same texts
 * in any order give the same tokenizer. The result is an ordinary `tokenizer.json` that transformers, vLLM and
 * llama.cpp read.
 *
 * Three rules make copying easy for small models: every digit is a token of its own; a word includes the space before
 * it (so a name after a space is always the same ids: write a space after an opening tag); tags and role markers are
 * single tokens that no text can spell.
 */

import type { Tokenizer } from "../core/tokenizer.ts";
import { characterOfByte, specialPattern, toByteLevel } from "./byte-level.ts";
import { tokenizerFromJson } from "./load-tokenizer.ts";

/** Role markers, end of turn and padding of a tokenizer of our own. */
const roleMarkers = {
  system: "<|system|>",
  user: "<|user|>",
  assistant: "<|assistant|>",
  end: "<|end|>",
  pad: "<|pad|>",
} as const;

const wordPattern = "\\p{N}| ?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

export interface TrainTokenizerOptions {
  /** Bytes, merges and special tokens together. */
  vocabularySize: number;
  /** Besides the role markers: usually the opening and closing form of every chain tag. */
  specialTokens?: readonly string[];
  /**
   * What the model sees of a prompt. `question`: the user's messages alone, for models too small to read instructions.
   * `chat`: system messages too.
   */
  prompt?: "question" | "chat";
}

/** Trains a tokenizer; stops early when no pair occurs twice. */
export function trainTokenizer(texts: Iterable<string>, options: TrainTokenizerOptions): Tokenizer {
  const specials = [...new Set([...Object.values(roleMarkers), ...(options.specialTokens ?? [])])];
  const room = options.vocabularySize - 256 - specials.length;
  if (room < 0) {
    throw new RangeError(
      `a vocabulary of ${options.vocabularySize} is too small: 256 bytes and ${specials.length} special tokens need ${256 + specials.length}`,
    );
  }
  const merges = learnMerges(countWords(texts, specials), room);
  const vocabulary: Record<string, number> = {};
  for (const character of characterOfByte) vocabulary[character] = Object.keys(vocabulary).length;
  const names = [...characterOfByte];
  const written: [string, string][] = [];
  for (const [left, right] of merges) {
    written.push([names[left]!, names[right]!]);
    vocabulary[names[left]! + names[right]!] = names.length;
    names.push(names[left]! + names[right]!);
  }
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const added = specials.map((content, index) => ({ id: names.length + index, content, ...flags }));
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
  const json = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: wordPattern }, behavior: "Isolated", invert: false },
        byteLevel,
      ],
    },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: vocabulary,
      merges: written,
    },
  };
  const config = {
    tokenizer_class: "PreTrainedTokenizerFast",
    clean_up_tokenization_spaces: false,
    model_max_length: 1_000_000,
    eos_token: roleMarkers.end,
    pad_token: roleMarkers.pad,
    additional_special_tokens: specials.filter((special) => special !== roleMarkers.end && special !== roleMarkers.pad),
    chat_template: promptTemplate(options.prompt ?? "question"),
  };
  return tokenizerFromJson(json, config);
}

/** One space is put before every message, for the same reason as after an opening tag. */
function promptTemplate(prompt: "question" | "chat"): string {
  const system =
    prompt === "chat" ? `{%- if message.role == 'system' -%}{{ '${roleMarkers.system} ' + message.content }}` : "";
  const branch = prompt === "chat" ? "elif" : "if";
  return (
    `{%- for message in messages -%}${system}` +
    `{%- ${branch} message.role == 'user' -%}{{ '${roleMarkers.user} ' + message.content }}` +
    `{%- elif message.role == 'assistant' -%}{{ '${roleMarkers.assistant}' + message.content + '${roleMarkers.end}' }}` +
    `{%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}{{ '${roleMarkers.assistant}' }}{%- endif -%}`
  );
}

interface Word {
  symbols: number[];
  count: number;
}

function countWords(texts: Iterable<string>, specials: readonly string[]): Word[] {
  const pattern = new RegExp(wordPattern, "gu");
  const outside = specialPattern(specials);
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const part of outside ? text.split(outside) : [text]) {
      for (const word of part.match(pattern) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const byteOf = new Map(characterOfByte.map((character, byte) => [character, byte]));
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([word, count]) => ({ symbols: Array.from(toByteLevel(word), (character) => byteOf.get(character)!), count }));
}

/** Pairs of token ids in the order they are merged; merge `i` makes id `256 + i`. */
function learnMerges(words: Word[], most: number): [number, number][] {
  const width = 1 << 20;
  const counts = new Map<number, number>(); // pair (left * width + right) -> occurrences
  const where = new Map<number, Set<number>>(); // pair -> words that may contain it
  const change = (pair: number, by: number, word: number) => {
    const now = (counts.get(pair) ?? 0) + by;
    if (now > 0) counts.set(pair, now);
    else counts.delete(pair);
    if (by <= 0) return;
    const list = where.get(pair);
    if (list) list.add(word);
    else where.set(pair, new Set([word]));
  };
  words.forEach(({ symbols, count }, index) => {
    for (let i = 0; i + 1 < symbols.length; i++) change(symbols[i]! * width + symbols[i + 1]!, count, index);
  });
  const merges: [number, number][] = [];
  while (merges.length < most) {
    let best = -1;
    let bestCount = 1; // a pair seen once is not a pattern
    for (const [pair, count] of counts) {
      if (count > bestCount || (count === bestCount && best !== -1 && pair < best)) [best, bestCount] = [pair, count];
    }
    if (best === -1) break;
    const left = Math.floor(best / width);
    const right = best % width;
    const made = 256 + merges.length;
    merges.push([left, right]);
    for (const index of where.get(best) ?? []) mergeInWord(words[index]!, index, left, right, made);
    where.delete(best);
    counts.delete(best);
  }
  return merges;

  function mergeInWord(word: Word, index: number, left: number, right: number, made: number): void {
    const { symbols, count } = word;
    const merged: number[] = [];
    for (let i = 0; i < symbols.length; i++) {
      if (symbols[i] === left && symbols[i + 1] === right) {
        merged.push(made);
        i++;
      } else merged.push(symbols[i]!);
    }
    if (merged.length === symbols.length) return;
    // Taking the old pairs out and putting the new ones in keeps counts right where pairs overlap ("aaa").
    for (let i = 0; i + 1 < symbols.length; i++) change(symbols[i]! * width + symbols[i + 1]!, -count, index);
    for (let i = 0; i + 1 < merged.length; i++) change(merged[i]! * width + merged[i + 1]!, count, index);
    word.symbols = merged;
  }
}
