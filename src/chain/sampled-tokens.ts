/**
 * The tokens that a turn sampled, each with the place in the text where it begins, so that segments get exactly the tokens
 * they are made of and what is dropped from the text is dropped from the tokens too.
 */
import type { Segment } from "../core/trajectory.ts";

export interface SampledToken {
  token: number;
  logprob: number | undefined;
  entropy: number | undefined;
  /** Where in the turn's text it begins. */
  at: number;
}

export interface SampledTokens {
  readonly length: number;
  ids(): number[];
  push(token: SampledToken): void;
  /** Tokens of earlier calls of the turn were sent, so they stay whatever is cut later. */
  settle(): void;
  /** The fields of a segment that ends at this place of the text: the tokens since the last one. */
  take(end: number): Pick<Segment, "tokens" | "logprobs" | "entropies">;
  /** Drops the tokens that begin at or after `position`; returns where the text of the rest ends. */
  cut(position: number, textLength: number): number;
}

/** A turn of which nothing is sampled. */
export function sampledTokens(): SampledTokens {
  const sampled: SampledToken[] = [];
  let assigned = 0; // tokens that belong to a finished segment
  let settled = 0;
  return {
    get length() {
      return sampled.length;
    },
    ids: () => sampled.map((entry) => entry.token),
    push: (token) => void sampled.push(token),
    settle() {
      settled = sampled.length;
    },
    take(end) {
      if (sampled.length === 0) return {};
      const from = assigned;
      while (assigned < sampled.length && sampled[assigned]!.at < end) assigned++;
      const own = sampled.slice(from, assigned);
      const known = <Key extends "logprob" | "entropy">(key: Key) => own.every((entry) => entry[key] !== undefined);
      return {
        tokens: own.map((entry) => entry.token),
        ...(known("logprob") && { logprobs: own.map((entry) => entry.logprob!) }),
        ...(own.length > 0 && known("entropy") && { entropies: own.map((entry) => entry.entropy!) }),
      };
    },
    cut(position, textLength) {
      const first = sampled.findIndex((entry, index) => index >= settled && entry.at >= position);
      if (first === -1) return textLength;
      const end = sampled[first]!.at;
      sampled.length = first;
      return end;
    },
  };
}
