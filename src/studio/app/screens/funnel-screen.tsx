/** A distillation from the first record to the last chain: each filter, each dropped run with its evidence, and what-if. */

import { flowPlot } from "../../../report/flow-plot.ts";
import { count, percent } from "../../../report/format-figures.ts";
import type { DroppedPage, FunnelView } from "../../api/funnel-view.ts";
import { useKeys } from "../keys.ts";
import { DroppedList } from "../parts/dropped-list.tsx";
import { Picture } from "../parts/picture.tsx";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { WhatIf } from "../parts/what-if.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function FunnelScreen({ params }: { params: Record<string, string> }) {
  const folders = useResource<string[]>("distillations", (event) => event.type === "idle");
  const folder = params["folder"] ?? folders.data?.[0];
  const { query } = place.value;
  const named = folder === undefined ? undefined : new URLSearchParams({ folder });
  const { data, error } = useResource<FunnelView>(
    named && `funnel?${named}`,
    (event) => event.type === "file" && event.kind === "outcomes",
  );
  const stage = query.get("stage") ?? "";
  const reason = query.get("reason") ?? "";
  const page = Number(query.get("page") ?? 0) || 0;
  const asked = named && new URLSearchParams({ folder: folder!, stage, reason, offset: String(page * 100) });
  const dropped = useResource<DroppedPage>(asked && `dropped?${asked}`);
  const stages = data?.stages.filter((one) => one.dropped > 0) ?? [];
  const moveStage = (by: number) => {
    const at = stages.findIndex((one) => one.name === stage);
    const next = stages[Math.max(0, Math.min(stages.length - 1, at + by))];
    setQuery({ stage: next?.name, reason: undefined, page: undefined });
  };
  const others = folders.data ?? [];
  const moveFolder = (by: number) => {
    const next = others[others.indexOf(folder ?? "") + by];
    if (next !== undefined) go(`/distill/${pathPart(next)}`);
  };
  useKeys(
    [
      { keys: "l", does: "Next filter that dropped something", run: () => moveStage(1) },
      { keys: "h", does: "Previous filter that dropped something", run: () => moveStage(-1) },
      { keys: "j", does: "Next distillation", run: () => moveFolder(1) },
      { keys: "k", does: "Previous distillation", run: () => moveFolder(-1) },
      {
        keys: "escape",
        does: "All filters",
        run: () => setQuery({ stage: undefined, reason: undefined, page: undefined }),
      },
    ],
    [data, stage, folders.data],
  );
  if (folders.data?.length === 0) {
    return (
      <Nothing page title="No distillation yet">
        <p>
          <code>coa distill run runs.jsonl</code> turns recorded runs into chains; what it dropped, and why, is shown
          here.
        </p>
      </Nothing>
    );
  }
  if (error && !data) return <Problem page title="The distillation can't be shown" detail={error} />;
  if (!data) return <Loading what="the distillation" />;
  return (
    <article class="funnel-screen">
      <header class="run-head">
        <h1>
          {count(data.records)} runs in, {count(data.kept)} chains kept{" "}
          <span class="soft">{percent(data.kept / Math.max(1, data.records), 1)}</span>
        </h1>
        <p class="place soft">
          {others.length > 1 ? (
            <select
              aria-label="Distillation"
              value={folder}
              onChange={(event) => go(`/distill/${pathPart(event.currentTarget.value)}`)}
            >
              {others.map((one) => (
                <option value={one}>{one}</option>
              ))}
            </select>
          ) : (
            data.folder
          )}
          , profile {data.profile} {data.unfinished && "(not finished: counts so far)"}
          {data.copies > 0 &&
            `; written with ${count(data.copies)} further ${data.copies === 1 ? "copy" : "copies"} of chains that correct themselves`}
        </p>
      </header>
      <section class="panel">
        <Picture svg={flowPlot(data)} />
      </section>
      <Savings view={data} />
      <div class="funnel-columns">
        <section class="panel" aria-label="Filters">
          <h2>Filters</h2>
          <ol class="funnel-stages">
            {data.stages.map((one) => (
              <StageRow stage={one} records={data.records} chosen={stage} reason={reason} />
            ))}
          </ol>
          {data.problems.length > 0 && (
            <details>
              <summary>{data.problems.length} records are broken</summary>
              <ul>
                {data.problems.slice(0, 50).map((problem) => (
                  <li>
                    <bdi>{problem.id}</bdi>: {problem.message}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </section>
        <WhatIf view={data} stage={stage} />
      </div>
      <DroppedList
        page={dropped.data}
        error={dropped.error}
        number={page}
        title={stage === "" ? "Everything that was dropped" : `Dropped by ${stage}${reason ? `: ${reason}` : ""}`}
      />
    </article>
  );
}

function StageRow(props: { stage: FunnelView["stages"][number]; records: number; chosen: string; reason: string }) {
  const { stage, records, chosen, reason } = props;
  const passed = stage.entered - stage.dropped;
  const share = (value: number) => `${(100 * value) / Math.max(1, records)}%`;
  return (
    <li class={stage.name === chosen ? "chosen" : ""}>
      <a
        href={href(place.value.path, { stage: stage.name === chosen ? undefined : stage.name })}
        aria-current={stage.name === chosen ? "true" : undefined}
      >
        <span class="stage-name">{stage.name}</span>
        <span class="stage-bar" aria-hidden="true">
          <i class="passed" style={{ width: share(passed) }} />
          <i class="dropped" style={{ width: share(stage.dropped) }} />
        </span>
        <span class="stage-count">
          {count(passed)}
          {stage.dropped > 0 && <b> −{count(stage.dropped)}</b>}
        </span>
      </a>
      {stage.name === chosen && Object.keys(stage.reasons).length > 0 && (
        <ul class="reasons">
          {Object.entries(stage.reasons).map(([name, number]) => (
            <li>
              <a
                href={href(place.value.path, { stage: stage.name, reason: name === reason ? undefined : name })}
                aria-current={name === reason ? "true" : undefined}
              >
                {name} <span class="soft">{count(number)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Savings({ view }: { view: FunnelView }) {
  if (view.tokens.length === 0) return null;
  return (
    <p class="savings soft">
      {view.tokens.map(({ topology, chains, team, chain }) => (
        <span>
          against {topology}: <b>{(team.billed / Math.max(1, chain.billed)).toFixed(1)}×</b> fewer tokens billed,{" "}
          <b>{(team.computed / Math.max(1, chain.computed)).toFixed(1)}×</b> fewer computed ({count(chains)} chains).{" "}
        </span>
      ))}
      {view.right && view.right.graded > 0 && `${count(view.right.graded)} kept chains are graded right.`}
    </p>
  );
}
