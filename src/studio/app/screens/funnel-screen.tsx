/** A distillation from the first record to the last chain: each filter, each dropped run with its evidence. */
import { count, percent } from "../../../report/format-figures.ts";
import type { DroppedPage, FunnelView } from "../../api/funnel-readers.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip } from "../parts/chip.tsx";
import { FolderChoice } from "../parts/choice.tsx";
import { cursor } from "../parts/selection.ts";
import { StageScreen } from "../parts/stage-screen.tsx";
import { Missing } from "../parts/states.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

const nothingChosen = { reason: undefined, page: undefined, row: undefined };

export function FunnelScreen({ params }: { params: Record<string, string> }) {
  return (
    <StageScreen<FunnelView>
      kind="outcomes"
      reader="funnel"
      named={params["folder"]}
      what="distillation"
      command="coa distill run runs.jsonl"
      does="turns recorded runs into chains; what it dropped, and why, is shown here."
      live={(event) => event.type === "idle" || (event.type === "file" && event.kind === "outcomes")}
    >
      {(view, folders) => <Funnel view={view} folders={folders} />}
    </StageScreen>
  );
}

function Funnel({ view, folders }: { view: FunnelView; folders: readonly string[] }) {
  const stage = place.value.query.get("stage") ?? "";
  const reason = place.value.query.get("reason") ?? "";
  const { folder, records, kept, copies } = view;
  const dropping = view.stages.filter((one) => one.dropped > 0).map(({ name }) => name);
  const moveStage = (by: number) => {
    const to = Math.max(0, Math.min(dropping.length - 1, dropping.indexOf(stage) + by));
    setQuery({ stage: dropping[to], ...nothingChosen });
  };
  const moveFolder = (by: number) => {
    const next = folders[folders.indexOf(folder) + by];
    if (next !== undefined) go(`/distill/${pathPart(next)}`);
  };
  useKeys([
    ...stepKeys("l", "h", "filter that dropped something", moveStage),
    ...stepKeys("j", "k", "distillation", moveFolder),
    { keys: "escape", does: "All filters", run: () => setQuery({ stage: undefined, ...nothingChosen }) },
  ]);
  return (
    <article class="funnel-screen">
      <header class="run-head">
        <h1>
          {count(records)} runs in, {count(kept)} chains kept{" "}
          <span class="soft">{percent(kept / Math.max(1, records), 1)}</span>
        </h1>
        <p class="place soft tiny">
          {folders.length < 2 && folder}
          <FolderChoice label="Distillation" folders={folders} folder={folder} route="/distill" />, profile{" "}
          {view.profile}
          {view.unfinished && " (not finished: counts so far)"}
          {copies > 0 &&
            `; written with ${count(copies)} further ${copies === 1 ? "copy" : "copies"} of chains that correct themselves`}
        </p>
      </header>
      <Savings view={view} />
      <section class="panel" aria-label="Filters">
        <h2>Filters</h2>
        <ol class="funnel-stages plain">
          {view.stages.map((one) => (
            <StageRow stage={one} records={records} chosen={stage} reason={reason} />
          ))}
        </ol>
        {view.problems.length > 0 && (
          <details>
            <summary>{view.problems.length} records are broken</summary>
            <ul>
              {view.problems.slice(0, 50).map((problem) => (
                <li>
                  <bdi>{problem.id}</bdi>: {problem.message}
                </li>
              ))}
            </ul>
          </details>
        )}
      </section>
      <DroppedList folder={folder} stage={stage} reason={reason} />
    </article>
  );
}

function StageRow(props: { stage: FunnelView["stages"][number]; records: number; chosen: string; reason: string }) {
  const { stage, records, chosen, reason } = props;
  const { path } = place.value;
  const isChosen = stage.name === chosen;
  const passed = stage.entered - stage.dropped;
  const share = (value: number) => `${(100 * value) / Math.max(1, records)}%`;
  return (
    <li class={isChosen ? "chosen" : ""}>
      <a
        class="stage cells line"
        href={href(path, { stage: isChosen ? undefined : stage.name })}
        aria-current={isChosen ? "true" : undefined}
      >
        <b>{stage.name}</b>
        <span class="bar" aria-hidden="true">
          <i class="hue-blue" style={{ width: share(passed) }} />
          <i class="hatched hue-rose" style={{ width: share(stage.dropped) }} />
        </span>
        <span class="figure">
          {count(passed)}
          {stage.dropped > 0 && <b class="fewer"> −{count(stage.dropped)}</b>}
          {stage.right > 0 && <span class="soft tiny"> {count(stage.right)} right</span>}
        </span>
      </a>
      {isChosen && (
        <ul class="reasons plain">
          {Object.entries(stage.reasons).map(([name, number]) => (
            <li>
              <a
                class="line"
                href={href(path, { stage: stage.name, reason: name === reason ? undefined : name })}
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
  const times = (team: number, chain: number) => <b>{(team / Math.max(1, chain)).toFixed(1)}×</b>;
  return (
    <p class="soft">
      {view.tokens.map(({ topology, chains, team, chain }) => (
        <span>
          against {topology}: {times(team.billed, chain.billed)} fewer tokens billed,{" "}
          {times(team.computed, chain.computed)} fewer computed ({count(chains)} chains).{" "}
        </span>
      ))}
      {view.right && view.right.graded > 0 && `${count(view.right.graded)} kept chains are graded right.`}
    </p>
  );
}

/** Runs that were dropped, each with the sentence and what the filters measured. */
function DroppedList({ folder, stage, reason }: { folder: string; stage: string; reason: string }) {
  const page = Number(place.value.query.get("page") ?? 0) || 0;
  const asked = new URLSearchParams({ folder, stage, reason, offset: String(page * 100) });
  const dropped = useResource<DroppedPage>(`dropped?${asked}`);
  const shown = dropped.data?.rows ?? [];
  const { at, move } = cursor("row", shown.length);
  useKeys([
    ...stepKeys("n", "p", "dropped run", move),
    { keys: "enter", does: "Open the run", run: () => shown[at] && go(`/runs/${pathPart(shown[at].id)}`) },
  ]);
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
        {rows.map((row, index) => (
          <li class="panel" aria-current={index === at ? "true" : undefined}>
            <div class="chips">
              <a href={href(`/runs/${pathPart(row.id)}`)} dir="auto">
                {row.question || row.id}
              </a>
              {row.right && <Chip text="✓ right answer" hue="green" />}
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
