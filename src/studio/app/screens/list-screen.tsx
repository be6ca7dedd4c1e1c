/** Runs and chains by the hundred thousand: facets, full text, order, saved views; every choice stands in the address. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { ItemView } from "../../api/item-view.ts";
import { useKeys } from "../keys.ts";
import { Chip } from "../parts/chip.tsx";
import { Facets } from "../parts/facets.tsx";
import { useItemPages } from "../parts/item-pages.ts";
import { oneLine } from "../parts/long-text.tsx";
import { SavedViews } from "../parts/saved-views.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { go, href, type Params, path, pathPart, place, setQuery } from "../router.ts";

const sorts: Record<string, string> = {
  "": "as recorded",
  "-order": "newest first",
  "-reward": "highest reward",
  reward: "lowest reward",
  "-tokens": "most tokens",
  tokens: "fewest tokens",
  "-moves": "longest",
  moves: "shortest",
  "-calls": "most tool calls",
};

export function ListScreen(_: { params: Record<string, string> }) {
  const kind = path.value === "/runs" ? "run" : "chain";
  const { query } = place.value;
  const asked = new URLSearchParams(query);
  asked.delete("row");
  asked.set("kind", kind);
  const pages = useItemPages(asked.toString());
  const row = Number(query.get("row") ?? -1);
  const move = (by: number) => pages.total && setQuery({ row: Math.max(0, Math.min(pages.total - 1, row + by)) });
  const open = () => {
    const item = pages.row(row);
    if (item) go(`/${kind}s/${pathPart(item.key)}`, { in: item.file });
  };
  useKeys(
    [
      { keys: "j", does: "Next row", run: () => move(1) },
      { keys: "k", does: "Previous row", run: () => move(-1) },
      { keys: "shift+j", does: "50 rows down", run: () => move(50) },
      { keys: "shift+k", does: "50 rows up", run: () => move(-50) },
      { keys: "enter", does: "Open the row", run: open },
      ...(kind === "chain"
        ? [{ keys: "v", does: "Review these chains", run: () => go("/review", chosenIn(asked)) }]
        : []),
      { keys: "escape", does: "Clear every choice", run: () => go(path.value) },
    ],
    [pages.total, row, kind, asked.toString()],
  );
  const q = query.get("q");
  const facetQuery = withoutSort(asked);
  // The list is drawn again with each page of rows that arrives; the facets are not.
  const facets = useMemo(() => <Facets query={facetQuery} />, [facetQuery]);
  return (
    <article class="list-screen">
      <header class="list-head">
        <h1>
          {kind === "run" ? "Team runs" : "Chains"}{" "}
          <span class="soft">{pages.total === undefined ? "" : pages.total.toLocaleString("en")}</span>
        </h1>
        {q && (
          <p>
            with <b>{q}</b>{" "}
            <button type="button" class="quiet" onClick={() => setQuery({ q: undefined, row: undefined })}>
              all texts
            </button>
          </p>
        )}
        <SavedViews />
        <label class="soft">
          order{" "}
          <select
            value={query.get("sort") ?? ""}
            onChange={(event) => setQuery({ sort: event.currentTarget.value, row: undefined })}
          >
            {Object.entries(sorts).map(([value, name]) => (
              <option value={value}>{name}</option>
            ))}
          </select>
        </label>
      </header>
      <div class="list-columns">
        {facets}
        {pages.error ? (
          <Problem title="The list can't be shown" detail={pages.error} />
        ) : pages.total === undefined ? (
          <Loading what="the list" />
        ) : pages.total === 0 ? (
          <p class="state soft">Nothing fits. Press escape to clear every choice.</p>
        ) : (
          <div class="list-body">
            <div class="item-head" aria-hidden="true">
              <span class="item-question">question and answer</span>
              <span class="item-figure">{kind === "run" ? "steps" : "segments"}</span>
              <span class="item-figure">calls</span>
              <span class="item-figure">tokens</span>
            </div>
            <VirtualList
              key={asked.toString()}
              total={pages.total}
              rowHeight={46}
              active={row}
              label={kind === "run" ? "Team runs" : "Chains"}
              onRange={pages.want}
              row={(index) => rowOf(pages.row(index), kind)}
            />
          </div>
        )}
      </div>
    </article>
  );
}

/** The choices of a list as parts of another address. */
function chosenIn(asked: URLSearchParams): Params {
  const names = [...new Set(asked.keys())].filter((name) => name !== "kind" && name !== "sort");
  return Object.fromEntries(names.map((name) => [name, asked.getAll(name)]));
}

function withoutSort(asked: URLSearchParams): string {
  const query = new URLSearchParams(asked);
  query.delete("sort");
  return query.toString();
}

const drawn = new WeakMap<ItemView, VNode>();

/** The row of an item, drawn once: the same node again costs nothing while the list scrolls. */
function rowOf(item: ItemView | undefined, kind: "run" | "chain"): VNode {
  let row = item && drawn.get(item);
  if (!row) {
    row = <Row item={item} kind={kind} />;
    if (item) drawn.set(item, row);
  }
  return row;
}

function Row({ item, kind }: { item: ItemView | undefined; kind: "run" | "chain" }) {
  if (!item) return <span class="row-waits" />;
  const { reward } = item;
  return (
    <a class="item" href={href(`/${kind}s/${pathPart(item.key)}`, { in: item.file })}>
      <i
        class={`dot ${reward === null ? (item.ending === "answered" ? "open" : "bad") : reward >= 1 ? "good" : reward <= 0 ? "bad" : "half"}`}
        title={reward === null ? item.ending : `reward ${reward}`}
      />
      <bdi class="one-line item-question">{oneLine(item.question || item.key, 220)}</bdi>
      <bdi class="one-line item-answer">{oneLine(item.answer || `(${item.ending || "no answer"})`, 120)}</bdi>
      <span class="item-chips">
        {item.violations > 0 && <Chip text={`${item.violations} violations`} hue="rose" />}
        <Chip text={item.origin} />
        {item.step !== null && <Chip text={`step ${item.step + 1}`} hue="violet" />}
        {item.family && <Chip text={item.family} hue="slate" />}
      </span>
      <span class="item-figure" title={kind === "run" ? "steps" : "segments"}>
        {count(item.moves)}
      </span>
      <span class="item-figure" title="tool calls">
        {count(item.toolCalls)}
      </span>
      <span class="item-figure" title="tokens billed">
        {count(item.billed)}
      </span>
    </a>
  );
}
