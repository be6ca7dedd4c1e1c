/**
 * llama.cpp knows pre-tokenizers by name, Hugging Face's files describe them. This table is both directions; what is not in it is
 * refused, since a model whose text is split differently reads other tokens than it learned.
 */
import { CoaError } from "../../../core/errors.ts";

/** A part of `tokenizer.json`: a type and what that type needs. */
export interface Component {
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
export function describedPreTokenizer(name: string, path: string) {
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
export function preTokenizerName(component: Component | null | undefined, path: string): string {
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
