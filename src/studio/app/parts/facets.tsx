/** What a list can be narrowed by: each value with how many items have it. */
import { count } from "../../../report/format-figures.ts";
import type { FacetView } from "../../api/query-items.ts";
import { place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function Facets({ query }: { query: string }) {
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
