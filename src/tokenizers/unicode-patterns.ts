/**
 * Pre-tokenizers as their files mean them. Hugging Face's are run by Rust, where `\s` and `\d` are Unicode's classes and `Digits`
 * splits off every number character; in JavaScript `\d` is ASCII and `\s` has U+FEFF and lacks U+0085. Here each step becomes
 * a split by a pattern in which the classes are written out, so that both give the same words.
 */
import { type ComponentJson, flattenComponent } from "./tokenizer-json.ts";

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

/** The same pre-tokenizer for a JavaScript library. */
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
