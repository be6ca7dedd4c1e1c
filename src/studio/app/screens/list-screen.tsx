/** Lists of runs and chains. */
import type { ItemPage } from "../../api/item-view.ts";
import { OneLine } from "../parts/long-text.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { href, path, place } from "../router.ts";
import { useResource } from "../server.ts";

export function ListScreen(_: { params: Record<string, string> }) {
  const kind = path.value === "/runs" ? "run" : "chain";
  const query = new URLSearchParams(place.value.query);
  query.set("kind", kind);
  const { data, error } = useResource<ItemPage>(`items?${query}`, (event) => event.type === "idle");
  if (error && !data) return <Problem title="The list can't be shown" detail={error} />;
  if (!data) return <Loading what="the list" />;
  return (
    <article>
      <h1>
        {kind}s <span class="soft">{data.total}</span>
      </h1>
      <ul>
        {data.rows.map((row) => (
          <li>
            <a href={href(`/${kind}s/${encodeURIComponent(row.key)}`)}>
              <OneLine text={row.question || row.key} />
            </a>
          </li>
        ))}
      </ul>
    </article>
  );
}
