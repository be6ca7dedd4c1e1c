/**
 * How a tool's output becomes part of a chain: made text, neutralised, cut to the profile's length with head and tail
 * kept, and written in its tags. This is the only maker of observations. The team reads the same text (`toolText`), a
 * distilled chain is laid out with it and the chain runtime shows it, so what the teacher read, what training data hold
 * and what the student reads are the same characters. In token mode the tags are special ids and the text is encoded as
 * plain text, so nothing in it can become a special token.
 */

import { estimateTokens } from "../base/count/token-estimate.ts";
import type { Model } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Segment } from "../core/trajectory.ts";
import { neutraliser } from "./neutralise.ts";
import { defaultStyle, tagNameOf, tagNames } from "./profile.ts";
import { builtInProfiles } from "./profiles.ts";

/** A tool's result as text, before anything else is done to it. */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output === "" ? "(no output)" : output;
  if (output === undefined || output === null) return "(no output)";
  try {
    return JSON.stringify(output) ?? String(output);
  } catch {
    return String(output);
  }
}

export function errorText(tool: string, error: string): string {
  return `error: ${error.startsWith(`${tool}:`) ? error : `${tool}: ${error}`}`;
}

/** Several outputs of one call body (two addresses, a list) as one text. */
export function joinOutputs(texts: readonly string[]): string {
  return texts.length === 1 ? texts[0]! : texts.map((text, index) => `[${index + 1}] ${text}`).join("\n\n");
}

/**
 * Tags that are neutralised whatever the profile: those of all built-in profiles. So a team, which knows no profile,
 * reads what a chain of any of them will read.
 */
const commonTags = [...new Set(Object.values(builtInProfiles).flatMap(tagNames))];

/** One neutraliser for each set of further tags: they are few, and making one costs more than using it. */
const neutralisers = new Map<string, (text: string) => string>();

function neutral(tags: readonly string[], specials: readonly string[] = untold): (text: string) => string {
  const all = [...new Set([...commonTags, ...tags])];
  if (specials.length > 0) return neutraliser(all, { specials });
  const key = all.join(" ");
  let made = neutralisers.get(key);
  if (!made) neutralisers.set(key, (made = neutraliser(all)));
  return made;
}

/** What tells the special tokens of a model: its tokenizer, or what its server says. */
export type SpecialsOf = Pick<Model, "tokenizer" | "specialStrings">;

const untold: readonly string[] = [];
const byProfile = new WeakMap<Profile, WeakMap<object, (text: string) => string>>();

/** Takes out of a text everything that could be read as structure of a chain of this profile, or as a special token of the model. */
export function neutralFor(profile: Profile, model: SpecialsOf = {}): (text: string) => string {
  const specials = specialsOf(model);
  let known = byProfile.get(profile);
  if (!known) byProfile.set(profile, (known = new WeakMap()));
  let made = known.get(specials);
  if (!made) known.set(specials, (made = neutral(tagNames(profile), specials)));
  return made;
}

const listed = new WeakMap<Tokenizer, readonly string[]>();

/** The strings that a model reads as special tokens, as far as it is known. */
export function specialsOf({ tokenizer, specialStrings = untold }: SpecialsOf): readonly string[] {
  if (!tokenizer) return specialStrings;
  const known = listed.get(tokenizer) ?? [...tokenizer.specialTokens.keys()];
  listed.set(tokenizer, known);
  return known;
}

/** Takes out of a question, of what was said before it or of instructions what the model could read as a special token. */
export function plainFor(model: SpecialsOf, kept: Iterable<string> = []): (text: string) => string {
  return neutraliser([], { specials: specialsOf(model), kept });
}

/** Makes the function that writes outputs of these tools for agents who read them outside a chain: the team's members. */
export function toolText(
  tools: Iterable<{ name: string }>,
  maxCharacters = defaultStyle.maxCharacters,
  specials: readonly string[] = untold,
): (text: string) => string {
  const clean = neutral(
    [...tools].map((tool) => tagNameOf(tool.name)),
    specials,
  );
  return (text) => cutMiddle(clean(text), maxCharacters).text;
}

/** An observation in its written form, with its token ids where the model works on tokens. */
export function observation(
  profile: Profile,
  text: string,
  by: "tool" | "runtime",
  model: SpecialsOf = {},
): { segment: Segment; cutCharacters: number } {
  const { layout, maxCharacters } = profile.style;
  const shown = cutMiddle(neutralFor(profile, model)(text), maxCharacters);
  const tag = profile.observation;
  const segment: Segment = { tag, text: shown.text, by };
  const before = layout === "paper" ? `\n<${tag}>\n` : `<${tag}>`;
  const after = layout === "paper" ? `\n</${tag}>\n\n` : `</${tag}>`;
  if (layout === "paper") segment.raw = before + shown.text + after;
  const { tokenizer } = model;
  if (tokenizer) {
    segment.tokens = [
      ...tokenizer.encodeWithSpecials(before),
      ...tokenizer.encode(shown.text),
      ...tokenizer.encodeWithSpecials(after),
    ];
  }
  return { segment, cutCharacters: shown.cutCharacters };
}

export function tokenCounter(model: Model): (text: string) => number {
  if (model.countTokens) return (text) => model.countTokens!(text);
  if (model.encodeText) return (text) => model.encodeText!(text).length;
  return estimateTokens;
}

/**
 * A text of at most `maxTokens`. Its middle is cut out; where hardly more than the note of it would be left, the end is cut off instead.
 */
export function capTokens(text: string, maxTokens: number, count: (text: string) => number): string {
  // No tokenizer makes more tokens than there are bytes, so short texts need no counting.
  if (text.length * 3 <= maxTokens) return text;
  const tokens = count(text);
  if (tokens <= maxTokens) return text;
  const cut = count(cutMiddle(text, 0).text) > maxTokens / 2 ? cutEnd : (keep: number) => cutMiddle(text, keep).text;
  let keep = Math.max(2, Math.floor((text.length * maxTokens) / tokens));
  for (;;) {
    const shorter = cut(keep);
    if (keep <= 2 || count(shorter) <= maxTokens) return shorter;
    keep = Math.floor(keep * 0.9) - 1;
  }

  /** After a whole word where one ends in time: half a name is another name. */
  function cutEnd(keep: number): string {
    const head = text.slice(0, isLowSurrogate(text, keep) ? keep - 1 : keep);
    const word = head.search(/\s\S*$/);
    return `${(word > keep / 2 ? head.slice(0, word) : head).trimEnd()} ...`;
  }
}

/** A text of at most `maxCharacters`, its middle replaced by a note of how much is missing. */
function cutMiddle(text: string, maxCharacters: number): { text: string; cutCharacters: number } {
  if (text.length <= maxCharacters) return { text, cutCharacters: 0 };
  const room = Math.max(0, maxCharacters - 40); // the note takes the rest
  let headEnd = Math.ceil(room * 0.6);
  let tailStart = text.length - Math.floor(room * 0.4);
  if (isLowSurrogate(text, headEnd)) headEnd--;
  if (isLowSurrogate(text, tailStart)) tailStart++;
  const cutCharacters = tailStart - headEnd;
  const note = `\n[… ${cutCharacters} characters cut …]\n`;
  return { text: text.slice(0, headEnd) + note + text.slice(tailStart), cutCharacters };
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}
