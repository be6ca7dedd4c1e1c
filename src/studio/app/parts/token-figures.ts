/** What tokens are coloured by: a figure gives each token a shade from 0 (nothing) to 8, with a sign for two-sided ones. */
import { decimal, percent, signed } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";

export type FigureName = "mask" | "logprob" | "entropy" | "advantage" | "diff";

export interface Figure {
  name: FigureName;
  /** Class of each token: 0 to 8, or -1 to -8 where the figure has two sides. */
  shades: Int8Array;
  /** How striking each token is, 0 and up: what `n` steps through. */
  strengths: Float32Array;
  values: (number | null)[];
  /** The figure in words, over the whole chain. */
  says: string;
  missing?: string;
}

interface Colouring {
  name: FigureName;
  label: string;
  /** What the colour says, for who sees it for the first time. */
  means: string;
  perShade: number;
  /** A value as the scale shows it. */
  text: (value: number) => string;
  scale: readonly number[];
}

const oneSided = [1, 2, 4, 6, 8];
const twoSided = [-8, -4, -1, 1, 4, 8];

/** The figures, in the order of their keys. */
export const colourings: readonly Colouring[] = [
  {
    name: "mask",
    label: "loss mask",
    means: "Green and underlined tokens are learned; the others are only read.",
    perShade: 1 / 8,
    text: () => "learned",
    scale: [8],
  },
  {
    name: "logprob",
    label: "log-prob",
    means: "How probable the model found each token here: the stronger the colour, the less the model expected it.",
    perShade: -0.5,
    text: (value) => percent(Math.exp(value), 0),
    scale: oneSided,
  },
  {
    name: "entropy",
    label: "entropy",
    means: "How open the choice was before each token, in nats: 0 where only one token came into question.",
    perShade: 0.25,
    text: (value) => value.toFixed(2),
    scale: oneSided,
  },
  {
    name: "advantage",
    label: "advantage",
    means: "How the update weighed what the model wrote: blue was made more likely, red (underlined) less likely.",
    perShade: 0.3,
    text: (value) => signed(value),
    scale: twoSided,
  },
  {
    name: "diff",
    label: "two models",
    means:
      "Log-probability under the second model less that under the first: blue tokens the second expected more, red (underlined) ones less.",
    perShade: 0.25,
    text: (value) => signed(value),
    scale: twoSided,
  },
];

/** The colouring of a name; that of the mask where the name is unknown. */
export function colouringOf(name: string | null): Colouring {
  return colourings.find((one) => one.name === name) ?? colourings[0]!;
}

export function classOfShade(shade: number): string {
  return shade === 0 ? "t" : shade > 0 ? `t u${shade}` : `t d${-shade}`;
}

/** The tokens with the highest colour first: least probable, most open, most different. */
export function strikingTokens({ strengths }: Figure): number[] {
  const striking = [...strengths.keys()].filter((index) => strengths[index]! > 0);
  return striking.sort((a, b) => strengths[b]! - strengths[a]!).slice(0, 50);
}

type Row = (number | null)[] | undefined;

/** Computes a figure. `first` and `second` are log-probabilities under chosen models; without the first those of sampling count. */
export function figureOf(name: FigureName, view: TokensView, first: Row, second: Row): Figure {
  const logprobs = first ?? view.logprobs;
  switch (name) {
    case "logprob": {
      const missing = "No log-probabilities were kept with this chain: choose a model to score it with.";
      return one(name, view, logprobs, meanSays("mean log-prob", logprobs), missing);
    }
    case "entropy": {
      const missing =
        "No entropies were kept with this chain: coa ask and coa eval run keep them with --set chain.entropies, for models that run in their own process.";
      return one(name, view, view.entropies, meanSays("mean entropy", view.entropies, " nats"), missing);
    }
    case "advantage": {
      const { baseline, advantage, reward } = view.rollout ?? {};
      const says =
        advantage === undefined
          ? ""
          : `advantage ${signed(advantage)} (reward ${reward ?? "–"}, baseline ${baseline?.toFixed(3) ?? "–"})`;
      const { dropped } = view.rollout ?? {};
      const missing = dropped
        ? `No update used this chain: the answers to its task were ${dropped.replaceAll("-", " ")}.`
        : "No update of RL used this chain: it is not a rollout, or nothing in it was credited.";
      return one(name, view, view.advantages, says, missing);
    }
    case "diff": {
      const difference =
        logprobs && second ? second.map((value, index) => subtract(value, logprobs[index])) : undefined;
      const missing = logprobs
        ? "Choose a model to compare with."
        : "No log-probabilities were kept with this chain: choose two models to compare.";
      return one(name, view, difference, meanSays("mean difference", difference), missing);
    }
    default: {
      const learned = view.weights.filter((value) => value !== 0).length;
      const weights = view.weights.map((value) => Math.sign(value));
      return {
        ...one("mask", view, weights, `${learned} of ${weights.length} tokens are learned`, ""),
        values: view.weights,
      };
    }
  }
}

function one(name: FigureName, view: TokensView, values: Row, says: string, missing: string): Figure {
  const shades = new Int8Array(view.tokens.length);
  const strengths = new Float32Array(view.tokens.length);
  if (!values) return { name, shades, strengths, values: view.tokens.map(() => null), says: "", missing };
  const { perShade } = colouringOf(name);
  for (const [index, value] of values.entries()) {
    if (value === null || value === undefined) continue;
    const amount = value / perShade;
    strengths[index] = Math.abs(amount);
    const size = Math.abs(amount) < 0.1 ? 0 : Math.min(8, Math.max(1, Math.round(Math.abs(amount))));
    shades[index] = amount < 0 ? -size : size;
  }
  return { name, shades, strengths, values, says };
}

function subtract(a: number | null | undefined, b: number | null | undefined): number | null {
  return a === null || a === undefined || b === null || b === undefined ? null : a - b;
}

/** The mean of the values that are known, in words; nothing where none is. */
function meanSays(what: string, values: Row, unit = ""): string {
  const known = values?.filter((value) => value !== null) ?? [];
  if (known.length === 0) return "";
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const probability = what === "mean log-prob" ? ` (a probability of ${percent(Math.exp(mean), 1)})` : "";
  return `${what} ${decimal(mean, 3)}${unit}${probability}`;
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
