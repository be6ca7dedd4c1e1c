/**
 * The tokens of a chain, coloured by what is asked: whether they are learned, how sure the model was, how open the choice
 * was, how they were reinforced, or where two models differ.
 */
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { count, decimal, percent } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Choice } from "../parts/choice.tsx";
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
  const scoring = scoreA.loading || scoreB.loading;
  const models = data.models.map((model) => [model, model] as const);
  const modelChoice = (name: string, label: string, value: string, none: string) => (
    <Choice
      label={label}
      value={value}
      options={[["", none], ...models]}
      onChoose={(model) => setQuery({ [name]: model })}
    />
  );
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
        <fieldset class="switch small">
          <legend class="hidden">Colour</legend>
          {colourings.map((one) => (
            <label>
              <input
                type="radio"
                name="colour"
                checked={one.name === name}
                onChange={() => setQuery({ colour: one.name })}
              />
              <span>{one.label}</span>
            </label>
          ))}
        </fieldset>
        {data.models.length > 0 && (
          <>
            {modelChoice("model", "probabilities of", first, data.logprobs ? "as sampled" : "no model")}
            {modelChoice("with", "compared with", second, "no model")}
          </>
        )}
        <span class="soft">{scoring ? "scoring…" : (scoreA.error ?? scoreB.error ?? figure.says)}</span>
      </div>
      {data.notLoaded > 0 && <p class="not-loaded">{count(data.notLoaded)} more tokens are not loaded</p>}
      {figure.missing && !scoring ? <p class="not-loaded">{figure.missing}</p> : <Legend name={name} />}
      <div class="columns">
        <TokenBlocks view={data} figure={figure} at={at} onMove={moveTo} />
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

interface BlocksProps {
  view: TokensView;
  figure: Figure;
  at: number;
  onMove: (token: number) => void;
}

/** Tokens that have their spans before the browser says what is in sight: about a screen of them. */
const atOnce = 400;

/**
 * One block for each segment, one span for each token. A block that is out of sight is not laid out, and holds its text as it
 * is (so that the browser's own search finds it) until it comes near: thousands of unseen spans would cost most of
 * the time. Spans are made once and only their classes change with the figure; the component tree never sees them.
 */
function TokenBlocks({ view, figure, at, onMove }: BlocksProps) {
  const root = useRef<HTMLDivElement>(null);
  const blocks = useRef<TokenBlock[]>([]);
  const colouring = useRef(figure);
  useLayoutEffect(() => {
    colouring.current = figure;
    for (const { spans, from } of blocks.current) {
      for (const [index, span] of (spans ?? []).entries()) {
        const wanted = classOfShade(figure.shades[from + index]!);
        if (span.className !== wanted) span.className = wanted;
      }
    }
  }, [figure]);
  useLayoutEffect(() => {
    blocks.current = layOut(view);
    const knowsSight = "oncontentvisibilityautostatechange" in document.documentElement;
    for (const block of blocks.current) if (block.from < atOnce || !knowsSight) fill(block, view, colouring.current);
    root.current!.replaceChildren(...blocks.current.map(({ element }) => element));
  }, [view]);
  useLayoutEffect(() => {
    const block = blocks.current.find(({ from, to }) => at >= from && at < to);
    const span = block && fill(block, view, colouring.current)[at - block.from];
    span?.setAttribute("aria-current", "true");
    return () => span?.removeAttribute("aria-current");
  }, [view, at]);
  useLayoutEffect(() => {
    const comesNear = (event: Event) => {
      const block = blocks.current.find(({ element }) => element === event.target);
      if (block && !(event as ContentVisibilityAutoStateChangeEvent).skipped) fill(block, view, colouring.current);
    };
    const own = root.current!;
    own.addEventListener("contentvisibilityautostatechange", comesNear);
    return () => own.removeEventListener("contentvisibilityautostatechange", comesNear);
  }, [view]);
  const move = (event: Event) => {
    const { token } = event.target as TokenSpan;
    if (token !== undefined) onMove(token);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys h, l and n do the same
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys h, l and n do the same
    <div class="token-blocks" ref={root} onClick={move} />
  );
}

/** A segment's tokens, from one place to before another. */
interface TokenBlock {
  element: HTMLElement;
  from: number;
  to: number;
  /** Where they were made; before that the block has one text. */
  spans?: TokenSpan[];
}

/** A span that knows its token; an attribute of each would have no other reader. */
type TokenSpan = HTMLElement & { token?: number };

/** The blocks with their titles and plain texts, outside of the page. */
function layOut({ pieces, owners, segments }: TokensView): TokenBlock[] {
  const blocks: TokenBlock[] = [];
  for (let from = 0, to = 0; from < owners.length; from = to) {
    const owner = owners[from]!;
    while (to < owners.length && owners[to] === owner) to++;
    const segment = segments[owner];
    const name = owner < 0 ? "prompt" : (segment?.tag ?? "end of turn");
    const element = document.createElement("section");
    element.className = `token-block hue-${hueOf(name)} by-${segment?.by ?? "prompt"}`;
    const title = document.createElement("h2");
    title.textContent = name;
    element.append(title, visiblePiece(pieces.slice(from, to).join("")));
    blocks.push({ element, from, to });
  }
  return blocks;
}

/** The block's spans, made now where they were not yet, with their colour: to change it in the page would cost as much again. */
function fill(block: TokenBlock, { pieces }: TokensView, { shades }: Figure): readonly TokenSpan[] {
  if (block.spans) return block.spans;
  const { element, from, to } = block;
  block.spans = pieces.slice(from, to).map((piece, index) => {
    const span: TokenSpan = document.createElement("span");
    span.className = classOfShade(shades[from + index]!);
    span.textContent = visiblePiece(piece);
    span.token = from + index;
    return span;
  });
  element.replaceChildren(element.firstElementChild!, ...block.spans);
  return block.spans;
}
