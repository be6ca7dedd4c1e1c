/** Runs that were dropped, each with the sentence and what the filters measured. */

import { count } from "../../../report/format-figures.ts";
import type { DroppedPage, DroppedView } from "../../api/funnel-view.ts";
import { href, pathPart, setQuery } from "../router.ts";
import { Chip } from "./chip.tsx";
import { Loading, Problem } from "./states.tsx";

export function DroppedList({
  page,
  error,
  number,
  title,
}: {
  page?: DroppedPage;
  error?: string;
  number: number;
  title: string;
}) {
  if (error) return <Problem title="The list can't be shown" detail={error} />;
  if (!page) return <Loading what="what was dropped" />;
  const last = Math.max(0, Math.ceil(page.total / 100) - 1);
  return (
    <section class="dropped-list" aria-label={title}>
      <h2>
        {title} <span class="soft">{count(page.total)}</span>
      </h2>
      {page.total === 0 && <p class="soft">Nothing was dropped here.</p>}
      <ul class="plain">
        {page.rows.map((row) => (
          <li>
            <div class="dropped-head">
              <a href={href(`/runs/${pathPart(row.id)}`)}>
                <bdi>{row.id}</bdi>
              </a>
              <Chip text={row.stage} hue="rose" />
              <b>{row.reason}</b>
              {row.family && <Chip text={row.family} />}
              <span class="soft">{row.place}</span>
            </div>
            {row.detail && (
              <p>
                <bdi>{row.detail}</bdi>
              </p>
            )}
            <Evidence row={row} />
          </li>
        ))}
      </ul>
      {last > 0 && (
        <p>
          <button type="button" disabled={number === 0} onClick={() => setQuery({ page: number - 1 || undefined })}>
            Previous
          </button>{" "}
          page {number + 1} of {last + 1}{" "}
          <button type="button" disabled={number >= last} onClick={() => setQuery({ page: number + 1 })}>
            Next
          </button>
        </p>
      )}
    </section>
  );
}

function Evidence({ row }: { row: DroppedView }) {
  const seen = row.decisions.filter((decision) => decision.value !== undefined || !decision.kept);
  if (seen.length === 0) return null;
  return (
    <p class="chips">
      {seen.map(({ stage, measure, value, threshold, kept }) => (
        <Chip
          text={`${stage}${measure === undefined ? "" : `: ${measure} ${Number(value?.toFixed(3))}, bound ${threshold}`}`}
          hue={kept ? undefined : "rose"}
        />
      ))}
    </p>
  );
}
