/**
 * Constrained decoding for one model call: a grammar for servers that take one, a token mask for engines. What takes
 * long to compute is kept by profile and state, so that all chains of a batch share it.
 */

import type { ContinueRequest, Grammar, Model } from "../../core/model.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { advance, type ChainState, type Profile, tagSpec } from "../profile.ts";
import type { AutomatonState } from "./byte-automaton.ts";
import { chainRules, stateKey } from "./chain-rules.ts";
import { grammarText } from "./grammar-text.ts";
import { marker, sequence } from "./rules.ts";
import { schemaText } from "./schema-text.ts";
import { afterToken, allowedTokens, tokenAutomaton } from "./token-mask.ts";

/** The turn so far, as far as constraints ask. */
export interface UnfinishedTurn {
  tokens(): readonly number[];
  /** Segments that have ended, and the tag that is open. */
  progress(): { segments: readonly { tag: string; text: string }[]; open: string | undefined };
}

const grammars = new WeakMap<Profile, Map<string, Grammar>>();
const automata = new WeakMap<Profile, WeakMap<Tokenizer, Map<string, AutomatonState>>>();

/** What to add to the request so that the model can only write what the profile allows; nothing where it takes nothing. */
export function constraint(
  model: Model,
  profile: Profile,
  state: ChainState,
  turn: UnfinishedTurn,
  answerOnly: boolean,
): Pick<ContinueRequest, "grammar" | "allowedTokens"> {
  if (model.capabilities.grammar === "masks" && model.tokenizer) {
    return { allowedTokens: maskFrom(model.tokenizer, profile, state, turn, answerOnly) };
  }
  if (model.capabilities.grammar !== "server") return {};
  const { segments, open } = turn.progress();
  const now = segments.reduce((before, segment) => advance(profile, before, segment), state);
  const isFreeText = open === profile.think || (open !== undefined && tagSpec(profile, open)?.body.kind === "text");
  // A call that ran out of tokens inside a structured body continues freely; what comes of it is read leniently.
  if (open !== undefined && !isFreeText) return {};
  const key = `${stateKey(profile, now)}|${answerOnly}|${open ?? ""}`;
  const known = mapIn(grammars, profile);
  let grammar = known.get(key);
  if (!grammar) known.set(key, (grammar = grammarText(chainRules(profile, now, { answerOnly, inside: open }))));
  return { grammar };
}

/**
 * A mask for the answer alone, where a caller asked for it in a schema: everything else the model writes is free. Nothing
 * where the model takes no masks; its answer is checked when it is there.
 */
export function answerConstraint(
  model: Model,
  profile: Profile,
  turn: UnfinishedTurn,
): Pick<ContinueRequest, "allowedTokens"> {
  const body = tagSpec(profile, profile.answer)?.body;
  const { tokenizer } = model;
  if (body?.kind !== "schema" || model.capabilities.grammar !== "masks" || !tokenizer) return {};
  const known = answers.get(profile) ?? new WeakMap<Tokenizer, AutomatonState>();
  answers.set(profile, known);
  let first = known.get(tokenizer);
  if (!first) {
    const answer = sequence(schemaText(body.schema), marker(`</${profile.answer}>`));
    known.set(
      tokenizer,
      (first = tokenAutomaton({ start: "answer", rules: new Map([["answer", answer]]) }, tokenizer)),
    );
  }
  const start = first;
  const opening = `<${profile.answer}>`;
  const earlier = turn.tokens().length;
  const all = [...turn.tokens()];
  let inside: AutomatonState | null | undefined; // undefined: outside the answer; null: the mask was left
  let tail = "";
  let read = 0;
  const take = (token: number) => {
    if (inside !== undefined) {
      inside = inside && afterToken(inside, token, tokenizer);
      return;
    }
    tail = (tail + new TextDecoder().decode(tokenizer.tokenBytes(token))).slice(-2 * opening.length);
    // A token that holds more than the end of the tag can't be cut: such an answer is only checked.
    if (tail.endsWith(opening)) inside = start;
  };
  const restart = () => {
    [inside, tail, read] = [undefined, "", 0];
    for (; read < earlier; read++) take(all[read]!);
  };
  restart();
  return {
    allowedTokens(sampled) {
      if (earlier + sampled.length < read) restart();
      for (; read < earlier + sampled.length; read++) take(sampled[read - earlier]!);
      return inside ? allowedTokens(inside, tokenizer) : undefined;
    },
  };
}

const answers = new WeakMap<Profile, WeakMap<Tokenizer, AutomatonState>>();

function maskFrom(
  tokenizer: Tokenizer,
  profile: Profile,
  state: ChainState,
  turn: UnfinishedTurn,
  answerOnly: boolean,
): NonNullable<ContinueRequest["allowedTokens"]> {
  let byTokenizer = automata.get(profile);
  if (!byTokenizer) automata.set(profile, (byTokenizer = new WeakMap()));
  const known = mapIn(byTokenizer, tokenizer);
  const key = `${stateKey(profile, state)}|${answerOnly}`;
  let first = known.get(key);
  if (!first) known.set(key, (first = tokenAutomaton(chainRules(profile, state, { answerOnly }), tokenizer)));
  let start: AutomatonState | null = first;
  for (const token of turn.tokens()) start &&= afterToken(start, token, tokenizer);
  let current = start;
  let read = 0;
  return (sampled) => {
    if (sampled.length < read) [current, read] = [start, 0];
    for (; read < sampled.length; read++) current &&= afterToken(current, sampled[read]!, tokenizer);
    // Outside the language nothing can be right any more; ending the turn is all that is left.
    return current ? allowedTokens(current, tokenizer) : tokenizer.endOfTurn;
  };
}

function mapIn<Key extends object, Value>(cache: WeakMap<Key, Map<string, Value>>, key: Key): Map<string, Value> {
  let map = cache.get(key);
  if (!map) cache.set(key, (map = new Map()));
  return map;
}
