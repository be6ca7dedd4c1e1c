/**
 * Which tokens may come next, for any vocabulary: the automaton is walked with the bytes of every token, shared prefixes
 * once, and the result is kept with the automaton's state. Tags that are special tokens can be written only as such.
 */
import type { Tokenizer } from "../../core/tokenizer.ts";
import { type AutomatonState, byteAutomaton } from "./byte-automaton.ts";
import type { RuleSet } from "./rules.ts";

interface Vocabulary {
  /** Ordinary tokens in the order of their bytes. */
  tokens: { id: number; bytes: Uint8Array }[];
  specials: ReadonlySet<number>;
}

const vocabularies = new WeakMap<Tokenizer, Vocabulary>();

function vocabularyOf(tokenizer: Tokenizer): Vocabulary {
  let vocabulary = vocabularies.get(tokenizer);
  if (!vocabulary) {
    const specials = new Set([...tokenizer.specialTokens.values(), ...tokenizer.endOfTurn]);
    const tokens: Vocabulary["tokens"] = [];
    for (let id = 0; id < tokenizer.vocabularySize; id++) {
      if (specials.has(id)) continue;
      const bytes = tokenizer.tokenBytes(id);
      if (bytes.length > 0) tokens.push({ id, bytes });
    }
    tokens.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    vocabularies.set(tokenizer, (vocabulary = { tokens, specials }));
  }
  return vocabulary;
}

/** The automaton for a tokenizer: special token n is symbol 256 + n. */
export function tokenAutomaton(set: RuleSet, tokenizer: Tokenizer): AutomatonState {
  return byteAutomaton(set, (marker) => {
    const special = tokenizer.specialToken(marker);
    return special === undefined ? undefined : 256 + special;
  });
}

/** The state after a token, or null where it is not allowed. */
export function afterToken(state: AutomatonState, token: number, tokenizer: Tokenizer): AutomatonState | null {
  if (vocabularyOf(tokenizer).specials.has(token)) return state.next(256 + token);
  let current: AutomatonState | null = state;
  for (const byte of tokenizer.tokenBytes(token)) {
    current = current.next(byte);
    if (!current) return null;
  }
  return current;
}

const masks = new WeakMap<AutomatonState, readonly number[]>();

/** Every token that may come next in this state; the end of the turn where the language allows it. */
export function allowedTokens(state: AutomatonState, tokenizer: Tokenizer): readonly number[] {
  let mask = masks.get(state);
  if (!mask) masks.set(state, (mask = computeMask(state, tokenizer)));
  return mask;
}

function computeMask(state: AutomatonState, tokenizer: Tokenizer): number[] {
  const { tokens, specials } = vocabularyOf(tokenizer);
  const allowed: number[] = [];
  const path: (AutomatonState | null)[] = [state]; // [bytes read] -> state
  let previous: Uint8Array = new Uint8Array();
  for (const { id, bytes } of tokens) {
    let depth = 0;
    while (depth < previous.length && depth < bytes.length && previous[depth] === bytes[depth]) depth++;
    depth = Math.min(depth, path.length - 1);
    path.length = depth + 1;
    for (; depth < bytes.length; depth++) {
      const next = path[depth]!.next(bytes[depth]!);
      if (!next) break;
      path.push(next);
    }
    previous = bytes;
    if (path.length === bytes.length + 1) allowed.push(id);
  }
  for (const symbol of state.symbols) if (specials.has(symbol - 256)) allowed.push(symbol - 256);
  if (state.accepting) allowed.push(...tokenizer.endOfTurn);
  return allowed;
}
