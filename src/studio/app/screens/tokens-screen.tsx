/**
 * The tokens of a chain, coloured by what is asked: whether they are learned, how sure the model was, how open the choice
 * was, how they were reinforced, or where two models differ.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, decimal, percent } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { QueryChoice } from "../parts/choice.tsx";
import { hueOf } from "../parts/hues.ts";
import { cursor } from "../parts/selection.ts";
import { Missing } from "../parts/states.tsx";
import {
  classOfShade,
  colouringOf,
  colourings,
  type Figure,
  type FigureName,
  figureOf,
  strikingTokens,
  visiblePiece,
} from "../parts/token-figures.ts";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function TokensScreen({ params }: { params: Record<string, string> }) {
  const id = params["chain"]!;
  const { query } = place.value;
  const asked = new URLSearchParams({ id, ...(query.has("in") && { in: query.get("in")! }) });
  const kept = { in: query.get("in") ?? undefined, list: query.get("list") ?? undefined };
  const tokens = useResource<TokensView>(`tokens?${asked}`);
  const { data } = tokens;
  const [first, second] = [query.get("model") ?? "", query.get("with") ?? ""];
  const scoreA = useScore(data, asked, first);
  const scoreB = useScore(data, asked, second);
  const { name } = colouringOf(query.get("colour"));
  const figure = useMemo<Figure | undefined>(
    () => data && figureOf(name, data, scoreA.data?.logprobs, scoreB.data?.logprobs),
    [data, name, scoreA.data, scoreB.data],
  );
  const { at, move, to: moveTo } = cursor("at", data?.tokens.length);
  useKeys([
    ...stepKeys("l", "h", "token", move),
    {
      keys: "n",
      does: "Next of the most striking tokens",
      run() {
        const striking = figure ? strikingTokens(figure) : [];
        moveTo(striking[(striking.indexOf(at) + 1) % Math.max(1, striking.length)] ?? 0);
      },
    },
    { keys: "b", does: "Back to the chain", run: () => go(`/chains/${pathPart(id)}`, kept) },
    ...colourings.map(({ name, label }, place) => ({
      keys: String(place + 1),
      does: `Colour by ${label}`,
      run: () => setQuery({ colour: name }),
    })),
  ]);
  useEffect(() => {
    document.querySelector(".token-blocks [aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [at, data]);
  if (!data || !figure) return <Missing page of={tokens} what="the tokens" />;
  const pointAt = ({ target }: Event) => {
    const { token } = (target as HTMLElement).dataset;
    if (token !== undefined) moveTo(Number(token));
  };
  const scoring = scoreA.loading || scoreB.loading;
  const models = data.models.map((model) => [model, model] as const);
  const learned = data.weights.filter((weight) => weight !== 0).length;
  return (
    <article class="tokens-screen" data-figure={figure.name}>
      <header class="run-head">
        <p>
          <a href={href(`/chains/${pathPart(id)}`, kept)}>← chain</a>
        </p>
        <h1>
          Tokens of <bdi>{id}</bdi>
        </h1>
        <p class="soft">
          {count(data.tokens.length)} tokens, {count(learned)} learned ({percent(learned / data.tokens.length, 0)});
          tokenizer of {data.tokenizer};{" "}
          {data.maskFrom ? `mask as in ${data.maskFrom}` : "mask as a dataset would have it"}
          {data.sampled || data.maskFrom ? "" : "; the chain has no ids: encoded here"}
        </p>
      </header>
      <div class="token-bar flex">
        <QueryChoice name="colour" label="colour by" options={colourings.map((one) => [one.name, one.label])} />
        {data.models.length > 0 && (
          <>
            <QueryChoice
              name="model"
              label="probabilities of"
              options={[["", data.logprobs ? "as sampled" : "no model"], ...models]}
            />
            <QueryChoice name="with" label="compared with" options={[["", "no model"], ...models]} />
          </>
        )}
        <span class="soft">{scoring ? "scoring…" : (scoreA.error ?? scoreB.error ?? figure.says)}</span>
      </div>
      {data.notLoaded > 0 && <p class="not-loaded">{count(data.notLoaded)} more tokens are not loaded</p>}
      {figure.missing && !scoring ? <p class="not-loaded">{figure.missing}</p> : <Legend name={name} />}
      <div class="columns">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys h, l and n do the same */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys h, l and n do the same */}
        <div class="token-blocks" onClick={pointAt}>
          {blocksOf(data).map((block) => (
            <TokenBlock view={data} figure={figure} at={at} block={block} />
          ))}
        </div>
        <TokenFacts
          view={data}
          figure={figure}
          at={at}
          under={[
            [first, scoreA.data?.logprobs],
            [second, scoreB.data?.logprobs],
          ]}
        />
      </div>
    </article>
  );
}

function useScore(view: TokensView | undefined, asked: URLSearchParams, model: string) {
  const known = view?.models.includes(model);
  return useResource<{ logprobs: (number | null)[] }>(known ? `score?${asked}&model=${pathPart(model)}` : undefined);
}

/** What the colours of tokens mean, with the values of a few shades. */
function Legend({ name }: { name: FigureName }) {
  const { means, scale, perShade, text } = colouringOf(name);
  return (
    <p class="token-legend flex soft small">
      <span class="token-scale">
        {scale.map((shade) => (
          <span class={classOfShade(shade)}>{text(shade * perShade)}</span>
        ))}
      </span>
      {means}
    </p>
  );
}

interface FactsProps {
  view: TokensView;
  figure: Figure;
  at: number;
  /** Log-probabilities under the models that are chosen; a model without a name is not. */
  under: readonly (readonly [model: string, logprobs: (number | null)[] | undefined])[];
}

/** Everything that is known of the selected token. */
function TokenFacts({ view, figure, at, under }: FactsProps) {
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

/** A segment's tokens, from one place to before another. */
type Block = { from: number; to: number; name: string; by: string };

function blocksOf({ owners, segments }: TokensView): Block[] {
  const blocks: Block[] = [];
  for (let from = 0, to = 0; from < owners.length; from = to) {
    const owner = owners[from]!;
    while (to < owners.length && owners[to] === owner) to++;
    const { tag = "end of turn", by = "prompt" } = segments[owner] ?? {};
    blocks.push({ from, to, by, name: owner < 0 ? "prompt" : tag });
  }
  return blocks;
}

/** Tokens that have their spans before the browser says what is in sight: about a screen of them. */
const atOnce = 400;

/**
 * A block for a segment, with a span for each token. A block that is out of sight is not laid out, and holds its text as it
 * is (so that the browser's own search finds it) until it comes near: thousands of spans that are not seen would cost most of
 * the time.
 */
function TokenBlock({ view, figure, at, block }: { view: TokensView; figure: Figure; at: number; block: Block }) {
  const { from, to, name, by } = block;
  const selected = at >= from && at < to ? at : -1;
  const [near, setNear] = useState(from < atOnce || !("oncontentvisibilityautostatechange" in document.body));
  const inSight = {
    oncontentvisibilityautostatechange: ({ skipped }: { skipped: boolean }) => skipped || setNear(true),
  };
  return useMemo(() => {
    const pieces = view.pieces.slice(from, to);
    return (
      <section class={`token-block hue-${hueOf(name)} by-${by}`} {...inSight}>
        <h2>{name}</h2>
        {near || selected >= 0
          ? pieces.map((piece, place) => (
              <span
                class={classOfShade(figure.shades[from + place]!)}
                data-token={from + place}
                aria-current={from + place === selected ? "true" : undefined}
              >
                {visiblePiece(piece)}
              </span>
            ))
          : visiblePiece(pieces.join(""))}
      </section>
    );
  }, [view, figure, selected, near]);
}
