/** Everything that is known of the selected token. */
import { decimal, percent } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";
import { type Figure, visiblePiece } from "./token-figures.ts";

interface Props {
  view: TokensView;
  figure: Figure;
  at: number;
  /** Log-probabilities under the models that are chosen; a model without a name is not. */
  under: readonly (readonly [model: string, logprobs: (number | null)[] | undefined])[];
}

export function TokenFacts({ view, figure, at, under }: Props) {
  if (!(at >= 0 && at < view.tokens.length)) {
    return (
      <aside class="token-facts panel">
        <h2>A token</h2>
        <p class="soft">
          Click one, or step through with <kbd>l</kbd> <kbd>h</kbd>; <kbd>n</kbd> goes to the most striking ones.
        </p>
      </aside>
    );
  }
  const owner = view.owners[at]!;
  const segment = view.segments[owner];
  const { rollout } = view;
  const facts: [string, string | undefined][] = [
    ["place", `${at + 1} of ${view.tokens.length}`],
    ["id", String(view.tokens[at])],
    ["in", owner < 0 ? "prompt" : (segment?.tag ?? "end of turn")],
    [
      "written by",
      owner < 0 ? "the prompt" : segment?.filled ? "the distiller" : (segment?.by ?? "the end of the turn"),
    ],
    ["weight in the loss", String(view.weights[at])],
    ["sampled with", probability(view.logprobs?.[at])],
    ["log-prob", text(view.logprobs?.[at])],
    ...under.map(([model, logprobs]): [string, string | undefined] => [`under ${model}`, probability(logprobs?.[at])]),
    ["difference", figure.name === "diff" ? text(figure.values[at]) : undefined],
    ["entropy", text(view.entropies?.[at], " nats")],
    ["advantage", text(view.advantages?.[at])],
    ["ratio of the rollout", rollout?.ratio && `${rollout.ratio.min.toFixed(3)} to ${rollout.ratio.max.toFixed(3)}`],
    ["clipped in the rollout", rollout?.clippedTokens === undefined ? undefined : `${rollout.clippedTokens} tokens`],
  ];
  return (
    <aside class="token-facts panel" aria-live="polite">
      <h2>
        <code>{visiblePiece(view.pieces[at]!) || "(nothing)"}</code>
      </h2>
      <dl>
        {facts.map(([name, value]) =>
          value === undefined ? null : (
            <div class="split">
              <dt class="soft">{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </aside>
  );
}

function text(value: number | null | undefined, unit = ""): string | undefined {
  return value === null || value === undefined ? undefined : `${decimal(value, 4)}${unit}`;
}

function probability(logprob: number | null | undefined): string | undefined {
  return logprob === null || logprob === undefined ? undefined : percent(Math.exp(logprob), 2);
}
