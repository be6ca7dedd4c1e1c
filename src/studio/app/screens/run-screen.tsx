/**
 * The team run beside the chain it became. Above, who worked when and what was read again and again; below, the team's
 * steps and the chain's segments, joined by lines. Each step is either shown by a segment or says why it is left out.
 */
import { useEffect } from "preact/hooks";
import type { BesideView } from "../../api/beside-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Gantt } from "../parts/gantt.tsx";
import { Links } from "../parts/links.tsx";
import { RunFigures } from "../parts/run-figures.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { SegmentList } from "../parts/segment-list.tsx";
import { select, selectedStep, selection } from "../parts/selection.ts";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { StepList } from "../parts/step-list.tsx";
import { go, pathPart, place } from "../router.ts";
import { useResource } from "../server.ts";

export function RunScreen({ params }: { params: Record<string, string> }) {
  const { query } = place.value;
  const asked = new URLSearchParams(params);
  for (const name of ["chain", "in", "list"]) if (query.has(name)) asked.set(name, query.get(name)!);
  const beside = useResource<BesideView>(`beside?${asked}`);
  const { data } = beside;
  useRunKeys(data, params["run"] === undefined ? "chain" : "run");
  useShowSelected(data);
  if (!data) return <Missing page of={beside} what={params["run"] === undefined ? "the chain" : "the run"} />;
  const { run, chain } = data;
  return (
    <article class="run-screen">
      <RunHead view={data} />
      {data.problems.map((problem) => (
        <Problem title="Not all of it can be shown" detail={problem} />
      ))}
      <RunFigures run={run} chain={chain} />
      {run && <Gantt run={run} chain={chain} />}
      {!run && chain && (
        <p class="soft">
          No team stands behind this chain: the model <bdi>{chain.model}</bdi> wrote it itself.
        </p>
      )}
      <div class={`beside columns${run ? "" : " alone"}`}>
        {run && <StepList run={run} chain={chain} />}
        {run && <Links run={run} chain={chain} />}
        {chain ? (
          <SegmentList chain={chain} run={run} file={fileOf(data.places.chain)} />
        ) : (
          <Nothing title="No chain was made from this run yet" command="coa distill run">
            makes one. Where a filter dropped it, the funnel of the distillation says why.
          </Nothing>
        )}
      </div>
    </article>
  );
}

function useRunKeys(view: BesideView | undefined, kind: "run" | "chain"): void {
  const { run, chain } = view ?? {};
  const moveSegment = (by: number) => {
    if (!chain) return;
    const { segment, step } = selection();
    const first = chain.segments.findIndex((one) => one.from?.step === step);
    const at = segment ?? (first >= 0 ? first - (by > 0 ? 1 : -1) : by > 0 ? -1 : chain.segments.length);
    select({ segment: Math.max(0, Math.min(chain.segments.length - 1, at + by)) });
  };
  const moveStep = (by: number) => {
    if (!run) return;
    const wanted = selectedStep(chain);
    const at = run.steps.findIndex((one) => one.id === wanted);
    const next = at < 0 ? (by > 0 ? 0 : run.steps.length - 1) : at + by;
    select({ step: run.steps[Math.max(0, Math.min(run.steps.length - 1, next))]!.id });
  };
  const list = place.value.query.get("list") ?? undefined;
  const other = (to: BesideView["before"]) => to && go(`/${kind}s/${pathPart(to.key)}`, { in: to.file, list });
  useKeys([
    ...stepKeys("j", "k", kind, (by) => other(by > 0 ? view?.after : view?.before)),
    ...stepKeys("l", "h", "segment", moveSegment),
    ...stepKeys("]", "[", "step of the team", moveStep),
    {
      keys: "t",
      does: "Tokens of the chain",
      run: () => chain && go(`/chains/${pathPart(chain.id)}/tokens`, { in: fileOf(view?.places.chain), list }),
    },
    {
      keys: "c",
      does: "Compare all systems on this task",
      run: () => go(`/compare/${pathPart(chain?.taskId ?? run?.taskId ?? "")}`),
    },
    { keys: "escape", does: "Select nothing", run: () => select({}) },
  ]);
}

/** The file of a place on disk, `file:line`. */
const fileOf = (place: string | undefined) => place?.replace(/:\d+$/, "");

/** Brings what the address selects into view. */
function useShowSelected(view: BesideView | undefined): void {
  const at = place.value.query.get("at");
  useEffect(() => {
    if (!view || !at) return;
    for (const row of document.querySelectorAll(".beside .selected")) row.scrollIntoView({ block: "nearest" });
  }, [view, at]);
}
