/**
 * The tokens of a chain, coloured by what is asked: whether they are learned, how sure the model was, how open the choice
 * was, how they were reinforced, or where two models differ. One strip shows the whole chain, one column for each token.
 */
import { useEffect, useMemo } from "preact/hooks";
import { count, percent } from "../../../report/format-figures.ts";
import type { TokensView } from "../../api/tokens-reader.ts";
import { useKeys } from "../keys.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { TokenBlocks } from "../parts/token-blocks.tsx";
import { TokenFacts } from "../parts/token-facts.tsx";
import { colouringOf, colourings, type Figure, figureOf } from "../parts/token-figures.ts";
import { TokenLegend } from "../parts/token-legend.tsx";
import { TokenStrip } from "../parts/token-strip.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function TokensScreen({ params }: { params: Record<string, string> }) {
  const id = params["chain"]!;
  const { query } = place.value;
  const asked = new URLSearchParams({ id, ...(query.has("in") && { in: query.get("in")! }) });
  const { data, error } = useResource<TokensView>(`tokens?${asked}`);
  const [first, second] = [query.get("model") ?? "", query.get("with") ?? ""];
  const scoreA = useScore(data, asked, first);
  const scoreB = useScore(data, asked, second);
  const { name } = colouringOf(query.get("colour"));
  const figure = useMemo<Figure | undefined>(
    () => data && figureOf(name, data, scoreA.data?.logprobs, scoreB.data?.logprobs),
    [data, name, scoreA.data, scoreB.data],
  );
  const at = Number(query.get("at") ?? -1);
  const moveTo = (token: number) => data && setQuery({ at: Math.max(0, Math.min(data.tokens.length - 1, token)) });
  useKeys(
    [
      { keys: "l", does: "Next token", run: () => moveTo(at + 1) },
      { keys: "h", does: "Previous token", run: () => moveTo(at - 1) },
      {
        keys: "n",
        does: "Next of the most striking tokens",
        run() {
          const worst = figure ? worstTokens(figure) : [];
          moveTo(worst[(worst.indexOf(at) + 1) % Math.max(1, worst.length)] ?? 0);
        },
      },
      { keys: "b", does: "Back to the chain", run: () => go(`/chains/${pathPart(id)}`) },
      ...colourings.map(({ name, key, does }) => ({ keys: key, does, run: () => setQuery({ colour: name }) })),
    ],
    [data, at, figure],
  );
  useEffect(() => {
    document.querySelector(".token-blocks [aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [at, data]);
  if (error && !data) return <Problem page title="The tokens can't be shown" detail={error} />;
  if (!data || !figure) return <Loading what="the tokens" />;
  const scoring = scoreA.loading || scoreB.loading;
  const learned = data.weights.filter((weight) => weight !== 0).length;
  return (
    <article class="tokens-screen" data-figure={figure.name}>
      <header class="run-head">
        <p>
          <a href={href(`/chains/${pathPart(id)}`)}>← chain</a>
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
      <div class="token-bar">
        <fieldset class="switch">
          <legend class="hidden">Colour</legend>
          {colourings.map((one) => (
            <label title={`${one.does} (${one.key})`}>
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
            <ModelChoice
              label="probabilities of"
              name="model"
              value={first}
              none={data.logprobs ? "as sampled" : "no model"}
              models={data.models}
            />
            <ModelChoice label="compared with" name="with" value={second} none="no model" models={data.models} />
          </>
        )}
        <span class="soft">{scoring ? "scoring…" : (scoreA.error ?? scoreB.error ?? figure.says)}</span>
      </div>
      {data.notLoaded > 0 && <p class="not-loaded">{count(data.notLoaded)} more tokens are not loaded</p>}
      {figure.missing && !scoring ? <p class="not-loaded">{figure.missing}</p> : <TokenLegend name={name} />}
      <TokenStrip figure={figure} at={at} onMove={moveTo} />
      <div class="token-columns">
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

function ModelChoice(props: { label: string; name: string; value: string; none: string; models: readonly string[] }) {
  return (
    <label class="soft">
      {props.label}{" "}
      <select value={props.value} onChange={(event) => setQuery({ [props.name]: event.currentTarget.value })}>
        <option value="">{props.none}</option>
        {props.models.map((model) => (
          <option value={model}>{model}</option>
        ))}
      </select>
    </label>
  );
}

/** The tokens with the highest colour first: least probable, most open, most different. */
function worstTokens({ strengths }: Figure): number[] {
  const striking = [...strengths.keys()].filter((index) => strengths[index]! > 0);
  return striking.sort((a, b) => strengths[b]! - strengths[a]!).slice(0, 50);
}
