/** Runs and chains by the hundred thousand: facets, full text, order, saved views; every choice stands in the address. */
import { useMemo, useState } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { FacetView, ItemView } from "../../api/query-items.ts";
import type { SavedView } from "../../api/views-routes.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip, hueOfReward } from "../parts/chip.tsx";
import { QueryChoice } from "../parts/choice.tsx";
import { useItemPages } from "../parts/item-pages.ts";
import { OneLine } from "../parts/long-text.tsx";
import { cursor } from "../parts/selection.ts";
import { ItemList } from "../parts/virtual-list.tsx";
import { go, href, path, pathPart, place, setQuery } from "../router.ts";
import { post, useResource } from "../server.ts";

const sorts = [
  ["", "as recorded"],
  ["-order", "newest first"],
  ["-reward", "highest reward"],
  ["reward", "lowest reward"],
  ["-tokens", "most tokens"],
  ["tokens", "fewest tokens"],
  ["-moves", "longest"],
  ["moves", "shortest"],
  ["-calls", "most tool calls"],
] as const;

export function ListScreen(_: { params: Record<string, string> }) {
  const kind = path.value === "/runs" ? "run" : "chain";
  const title = kind === "run" ? "Team runs" : "Chains";
  const { query } = place.value;
  const asked = without(query, "row");
  asked.set("kind", kind);
  const pages = useItemPages(asked.toString());
  const { at, move } = cursor("row", pages.total);
  const open = () => {
    const item = pages.row(at);
    if (item) go(`/${kind}s/${pathPart(item.key)}`, { in: item.file, list: without(query, "row").toString() });
  };
  const review = () => {
    const chosen = without(asked, "kind", "sort");
    go("/review", Object.fromEntries([...chosen.keys()].map((name) => [name, chosen.getAll(name)])));
  };
  useKeys([
    ...stepKeys("j", "k", "row", move),
    { keys: "shift+j", does: "50 rows down", run: () => move(50) },
    { keys: "shift+k", does: "50 rows up", run: () => move(-50) },
    { keys: "enter", does: "Open the row", run: open },
    ...(kind === "chain" ? [{ keys: "v", does: "Review these chains", run: review }] : []),
    { keys: "escape", does: "Clear every choice", run: () => go(path.value) },
  ]);
  const q = query.get("q");
  const narrowed = without(asked, "sort").toString();
  // The list is drawn again with each page of rows that arrives; the facets are not.
  const facets = useMemo(() => <Facets query={narrowed} />, [narrowed]);
  return (
    <article class="list-screen">
      <header class="list-head flex">
        <h1>
          {title} <span class="soft">{pages.total?.toLocaleString("en")}</span>
        </h1>
        {q && (
          <p>
            with <b>{q}</b> <Button text="all texts" quiet onClick={() => setQuery({ q: undefined, row: undefined })} />
          </p>
        )}
        <SavedViews />
        <QueryChoice name="sort" label="order" options={sorts} />
      </header>
      <div class="columns">
        {facets}
        {pages.total === 0 ? (
          <p class="state soft">Nothing fits. Press escape to clear every choice.</p>
        ) : (
          <div class="list-body">
            <div class="item item-head soft tiny" aria-hidden="true">
              <span>question and answer</span>
              <span class="figure">{kind === "run" ? "steps" : "segments"}</span>
              <span class="figure">calls</span>
              <span class="figure">tokens</span>
            </div>
            <ItemList
              key={asked.toString()}
              pages={pages}
              rowHeight={46}
              active={at}
              label={title}
              row={(item) => <Row item={item} list={without(query, "row").toString()} />}
            />
          </div>
        )}
      </div>
    </article>
  );
}

function without(query: URLSearchParams, ...names: string[]): URLSearchParams {
  const rest = new URLSearchParams(query);
  for (const name of names) rest.delete(name);
  return rest;
}

function Row({ item, list }: { item: ItemView; list: string }) {
  const { kind, reward, ending } = item;
  const hue = hueOfReward(reward ?? (ending === "answered" ? undefined : 0));
  return (
    <a class="item line" href={href(`/${kind}s/${pathPart(item.key)}`, { in: item.file, list })}>
      <i
        class={`dot hue-${hue}${reward === null ? "" : " given"}`}
        title={reward === null ? ending : `reward ${reward}`}
      />
      <OneLine text={item.question || item.key} length={220} />
      <OneLine text={item.answer || `(${ending || "no answer"})`} length={120} />
      <span class="chips">
        {item.violations > 0 && <Chip text={`${item.violations} violations`} hue="rose" />}
        <Chip text={item.origin} />
        {item.step !== null && <Chip text={`step ${item.step + 1}`} hue="violet" />}
        {item.family && <Chip text={item.family} />}
      </span>
      {[item.moves, item.toolCalls, item.billed].map((figure) => (
        <span class="figure soft small">{count(figure)}</span>
      ))}
    </a>
  );
}

/** What a list can be narrowed by: each value with how many items have it. */
function Facets({ query }: { query: string }) {
  const { data } = useResource<FacetView[]>(`facets?${query}`, {
    live: ({ type }) => type === "idle" || type === "file",
  });
  return (
    <aside class="facets" aria-label="Narrow the list">
      {(data ?? [])
        .filter(({ name, values }) => values.length > 1 || place.value.query.has(name))
        .map((facet) => (
          <Facet facet={facet} />
        ))}
    </aside>
  );
}

function Facet({ facet }: { facet: FacetView }) {
  const chosen = place.value.query.getAll(facet.name);
  const toggle = (value: string) =>
    setQuery({
      [facet.name]: chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value],
      row: undefined,
    });
  const most = Math.max(1, ...facet.values.map((one) => one.count));
  return (
    <fieldset>
      <legend class="soft tiny">{facet.name === "origin" ? "from" : facet.name}</legend>
      {facet.values.map(({ value, count: number }) => (
        <label class="facet cells line small">
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          <span class={facet.name === "file" ? "one-line from-end" : "one-line"} title={value}>
            <bdi>{value === "" ? "(none)" : value}</bdi>
          </span>
          <span class="soft">{count(number)}</span>
          <i style={{ width: `${(100 * number) / most}%` }} aria-hidden="true" />
        </label>
      ))}
      {facet.more > 0 && <p class="soft">and {count(facet.more)} more values</p>}
    </fieldset>
  );
}

const builtIn: Record<string, SavedView[]> = {
  "/chains": [
    { name: "all", address: "/chains" },
    { name: "wrong", address: "/chains?reward=0" },
    { name: "no answer", address: "/chains?ending=limit&ending=no-answer&ending=error" },
    { name: "longest", address: "/chains?sort=-tokens" },
  ],
  "/runs": [
    { name: "all", address: "/runs" },
    { name: "no answer", address: "/runs?ending=limit&ending=no-answer&ending=error" },
    { name: "dearest", address: "/runs?sort=-tokens" },
  ],
};

/** Lists under a name: the built-in ones and those that people saved. */
function SavedViews() {
  const { path, query } = place.value;
  const { data } = useResource<SavedView[]>("views");
  const [changed, setChanged] = useState<SavedView[] | undefined>();
  const own = (changed ?? data ?? []).filter(({ address }) => address.split("?")[0] === path);
  const shown = new URLSearchParams(query);
  shown.delete("row");
  const address = shown.size === 0 ? path : `${path}?${shown}`;
  const change = async (path: string, view: SavedView) => setChanged(await (await post(path, view)).json());
  const save = () => {
    const name = prompt("Name of the view")?.trim().slice(0, 80);
    if (name) void change("views", { name, address });
  };
  useKeys([{ keys: "shift+s", does: "Save this view", run: save }]);
  return (
    <nav class="views chips" aria-label="Views">
      {[...(builtIn[path] ?? []), ...own].map((view) => {
        const { name } = view;
        const remove = () => void change("views/remove", view);
        return (
          <span dir="auto" class={own.includes(view) ? "own" : ""}>
            <a class="chip hue-none" href={`#${view.address}`} aria-current={view.address === address && "true"}>
              {name}
            </a>
            {own.includes(view) && <Button text="×" quiet label={`Forget the view ${name}`} onClick={remove} />}
          </span>
        );
      })}
      <Button text="save view" quiet onClick={save} />
    </nav>
  );
}
