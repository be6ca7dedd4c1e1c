/** What tokens are coloured by: a figure gives each token a shade from 0 (nothing) to 8, with a sign for two-sided ones. */

import { percent } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";

export type FigureName = "mask" | "logprob" | "entropy" | "advantage" | "diff";

export interface Figure {
  name: FigureName;
  /** Class of each token: 0 to 8, or -1 to -8 where the figure has two sides. */
  shades: Int8Array;
  /** How striking each token is, 0 and up: what the strip draws and `n` steps through. */
  strengths: Float32Array;
  values: (number | null)[];
  /** The figure in words, over the whole chain. */
  says: string;
  /** Why there is nothing to colour. */
  missing?: string;
}

/** The figures with their keys. */
export const colourings: readonly { name: FigureName; label: string; key: string; does: string }[] = [
  { name: "mask", label: "loss mask", key: "1", does: "Colour what is learned" },
  { name: "logprob", label: "log-prob", key: "2", does: "Colour by log-probability" },
  { name: "entropy", label: "entropy", key: "3", does: "Colour by entropy" },
  { name: "advantage", label: "advantage", key: "4", does: "Colour by advantage" },
  { name: "diff", label: "two models", key: "5", does: "Colour where two models differ" },
];

type Row = (number | null)[] | undefined;

/** Computes a figure. `first` and `second` are log-probabilities under chosen models; without the first those of sampling count. */
export function figureOf(name: FigureName, view: TokensView, first: Row, second: Row): Figure {
  const logprobs = first ?? view.logprobs;
  switch (name) {
    case "logprob":
      return one(
        name,
        view,
        logprobs,
        (value) => -value / 0.5,
        logprobSays(logprobs),
        "no log-probabilities were kept; choose a model to score with",
      );
    case "entropy":
      return one(
        name,
        view,
        view.entropies,
        (value) => value / 0.25,
        meanSays("mean entropy", view.entropies),
        "no entropies were kept: train rl keeps them with --keep-entropy",
      );
    case "advantage": {
      const { baseline, advantage, reward } = view.rollout ?? {};
      const says =
        advantage === undefined
          ? ""
          : `advantage ${advantage.toFixed(3)}, reward ${reward ?? "–"}, baseline ${baseline?.toFixed(3) ?? "–"}`;
      return one(
        name,
        view,
        view.advantages,
        (value) => value / 0.3,
        says,
        "this chain was not part of an update of RL",
      );
    }
    case "diff": {
      const difference =
        logprobs && second ? second.map((value, index) => subtract(value, logprobs[index])) : undefined;
      return one(
        name,
        view,
        difference,
        (value) => value / 0.25,
        meanSays("mean difference", difference),
        "choose a model to compare with",
      );
    }
    default: {
      const values = view.weights;
      const learned = values.filter((value) => value !== 0).length;
      return one(
        "mask",
        view,
        values,
        (value) => (value === 0 ? 0 : 8),
        `${learned} of ${values.length} tokens are learned`,
        "",
      );
    }
  }
}

function one(
  name: FigureName,
  view: TokensView,
  values: Row,
  shade: (value: number) => number,
  says: string,
  missing: string,
): Figure {
  const shades = new Int8Array(view.tokens.length);
  const strengths = new Float32Array(view.tokens.length);
  if (!values) return { name, shades, strengths, values: view.tokens.map(() => null), says: "", missing };
  for (const [index, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const amount = shade(value);
    strengths[index] = Math.abs(amount);
    const size = Math.abs(amount) < 0.1 ? 0 : Math.min(8, Math.max(1, Math.round(Math.abs(amount))));
    shades[index] = amount < 0 ? -size : size;
  }
  return { name, shades, strengths, values, says };
}

function subtract(a: number | null | undefined, b: number | null | undefined): number | null {
  return a === null || a === undefined || b === null || b === undefined ? null : a - b;
}

function mean(values: Row): number | undefined {
  const known = values?.filter((value) => value !== null) ?? [];
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function meanSays(what: string, values: Row): string {
  const value = mean(values);
  return value === undefined ? "" : `${what} ${value.toFixed(3)}`;
}

function logprobSays(values: Row): string {
  const value = mean(values);
  return value === undefined
    ? ""
    : `mean log-prob ${value.toFixed(3)}, mean probability ${percent(Math.exp(value), 1)}`;
}

const oddSign = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u200b-\u200d\ufeff\u0000-\u0008\u000a-\u001f\u007f]/;

/** A piece as it can be seen: line breaks marked, signs that reorder or hide text named instead of obeyed. */
export function visiblePiece(piece: string): string {
  if (!oddSign.test(piece)) return piece;
  return piece
    .replace(
      /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u200b-\u200d\ufeff]/g,
      (sign) => `⟨${sign.codePointAt(0)!.toString(16)}⟩`,
    )
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (sign) => `⟨${sign.charCodeAt(0).toString(16)}⟩`)
    .replace(/\n/g, "⏎\n");
}
