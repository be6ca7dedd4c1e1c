/** Runs that were dropped, each with the sentence and what the filters measured. */
import { count } from "../../../report/format-figures.ts";
import type { DroppedPage } from "../../api/funnel-readers.ts";
import { href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";
import { Button } from "./button.tsx";
import { Chip } from "./chip.tsx";
import { Missing } from "./states.tsx";

export function DroppedList({ folder, stage, reason }: { folder: string; stage: string; reason: string }) {
  const page = Number(place.value.query.get("page") ?? 0) || 0;
  const asked = new URLSearchParams({ folder, stage, reason, offset: String(page * 100) });
  const dropped = useResource<DroppedPage>(`dropped?${asked}`);
  if (!dropped.data) return <Missing of={dropped} what="what was dropped" />;
  const { rows, total } = dropped.data;
  const last = Math.max(0, Math.ceil(total / 100) - 1);
  const title = stage === "" ? "Everything that was dropped" : `Dropped by ${stage}${reason ? `: ${reason}` : ""}`;
  return (
    <section class="dropped-list" aria-label={title}>
      <h2>
        {title} <span class="soft">{count(total)}</span>
      </h2>
      {total === 0 && <p class="soft">Nothing was dropped here.</p>}
      <ul class="plain">
        {rows.map((row) => (
          <li class="panel">
            <div class="chips">
              <a href={href(`/runs/${pathPart(row.id)}`)} dir="auto">
                {row.question || row.id}
              </a>
              <Chip text={row.stage} hue="rose" />
              <b>{row.reason}</b>
              {row.family && <Chip text={row.family} />}
              <span class="soft">{row.place}</span>
            </div>
            {row.detail && <p dir="auto">{row.detail}</p>}
            <Evidence row={row} />
          </li>
        ))}
      </ul>
      {last > 0 && (
        <p>
          <Button text="Previous" disabled={page === 0} onClick={() => setQuery({ page: page - 1 || undefined })} />{" "}
          page {page + 1} of {last + 1}{" "}
          <Button text="Next" disabled={page >= last} onClick={() => setQuery({ page: page + 1 })} />
        </p>
      )}
    </section>
  );
}

function Evidence({ row }: { row: DroppedPage["rows"][number] }) {
  const seen = row.decisions.filter((decision) => decision.value !== undefined || !decision.kept);
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
