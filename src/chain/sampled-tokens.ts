/**
 * The tokens that a turn sampled, each with the place in the text where it begins, so that segments get exactly the tokens
 * they are made of and what is dropped from the text is dropped from the tokens too.
 */
import type { SampledToken } from "../core/chain-record.ts";
import type { ContinueEvent } from "../core/model.ts";
import type { Segment } from "../core/trajectory.ts";

/** The tokens of one piece of a model's text, which begins at a place. */
export function tokensOf(delta: Extract<ContinueEvent, { type: "delta" }>, at: number): SampledToken[] {
  const { tokens = [], logprobs, entropies } = delta;
  return tokens.map((token, place) => ({ token, logprob: logprobs?.[place], entropy: entropies?.[place], at }));
}

/** Tokens as a segment keeps them; figures only where every token has them. */
function columns(tokens: readonly SampledToken[]): Pick<Segment, "tokens" | "logprobs" | "entropies"> {
  const logprobs = tokens.flatMap(({ logprob }) => logprob ?? []);
  const entropies = tokens.flatMap(({ entropy }) => entropy ?? []);
  return {
    tokens: tokens.map(({ token }) => token),
    ...(logprobs.length === tokens.length && { logprobs }),
    ...(tokens.length > 0 && entropies.length === tokens.length && { entropies }),
  };
}

/** A turn of which nothing is sampled. */
export function sampledTokens() {
  const sampled: SampledToken[] = [];
  let from = 0; // where the tokens of the last finished segment begin
  let assigned = 0; // and where they end
  let settled = 0;
  return {
    get length() {
      return sampled.length;
    },
    ids: () => sampled.map((entry) => entry.token),
    push: (token: SampledToken) => void sampled.push(token),
    /** Tokens of earlier calls of the turn were sent, so they stay whatever is cut later. */
    settle() {
      settled = sampled.length;
    },
    /** The fields of a segment that ends at this place of the text: the tokens since the last one. */
    take(end: number) {
      from = assigned;
      while (assigned < sampled.length && sampled[assigned]!.at < end) assigned++;
      return sampled.length === 0 ? {} : columns(sampled.slice(from, assigned));
    },
    /** The fields of the last segment once everything that is left belongs to it too. */
    takeRest() {
      assigned = sampled.length;
      return sampled.length === 0 ? {} : columns(sampled.slice(from));
    },
    /** Drops the tokens that begin at or after `position`; returns where the text of the rest ends. */
    cut(position: number, textLength: number): number {
      const first = sampled.findIndex((entry, index) => index >= settled && entry.at >= position);
      if (first === -1) return textLength;
      const end = sampled[first]!.at;
      sampled.length = first;
      return end;
    },
  };
}
