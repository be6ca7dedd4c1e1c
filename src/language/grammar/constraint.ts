/** Constrained decoding of an answer that a caller asked for in a schema: a token mask for engines. */
import type { ContinueRequest, Model } from "../../core/model.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { type Profile, tagSpec } from "../profile.ts";
import type { AutomatonState } from "./byte-automaton.ts";
import { marker, sequence } from "./rules.ts";
import { schemaText } from "./schema-text.ts";
import { afterToken, allowedTokens, tokenAutomaton } from "./token-mask.ts";

const answers = new WeakMap<Profile, WeakMap<Tokenizer, AutomatonState>>();

/**
 * A mask for the answer alone, where a caller asked for it in a schema: everything else the model writes is free. Nothing
 * where the model takes no masks; its answer is checked when it is there.
 */
export function answerConstraint(
  model: Model,
  profile: Profile,
  turn: { tokens(): readonly number[] },
): Pick<ContinueRequest, "allowedTokens"> {
  const body = tagSpec(profile, profile.answer)?.body;
  const { tokenizer } = model;
  // What refers to itself is no regular expression: such an answer is only checked.
  if (body?.kind !== "schema" || body.schema["$defs"] || model.capabilities.grammar !== "masks" || !tokenizer)
    return {};
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
