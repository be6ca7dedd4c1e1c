/** Training as it happens: every figure as a curve with one cursor, and what was sampled in the step under it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { LinesView } from "../../api/item-readers.ts";
import type { TrainingView } from "../../api/training-readers.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Chip, StateChip } from "../parts/chip.tsx";
import { FolderChoice } from "../parts/choice.tsx";
import { Curve } from "../parts/curve.tsx";
import { RolloutGroups } from "../parts/rollout-groups.tsx";
import { Missing, Nothing } from "../parts/states.tsx";
import { type Metrics, seriesOf } from "../parts/training-series.ts";
import { place, setQuery } from "../router.ts";
import { askJson, onEvents, useResource } from "../server.ts";

export function TrainingScreen({ params }: { params: Record<string, string> }) {
  const runs = useResource<TrainingView[]>("trainings", {
    live: () => true,
    polls: (all) => all.some(({ state }) => state === "running"),
  });
  const run = runs.data?.find(({ folder }) => folder === params["folder"]) ?? runs.data?.at(-1);
  const { lines, error } = useLines<Metrics>(run?.metrics);
  if (runs.data?.length === 0) {
    return (
      <Nothing page title="No training yet" command="coa train sft .coa/datasets/mine --model … --out .coa/sft">
        teaches a model; <code>coa train rl</code> lets it practise.
      </Nothing>
    );
  }
  if (!run || !lines || error)
    return <Missing page of={{ error: error ?? runs.error, loading: true }} what="the training" />;
  return <Training run={run} runs={runs.data!} lines={lines} />;
}

/** Curves above what the step sampled; the others follow below. */
const foremostCurves = 6;

function Training({ run, runs, lines }: { run: TrainingView; runs: TrainingView[]; lines: readonly Metrics[] }) {
  const asked = place.value.query.get("step");
  // A step that was evaluated has two lines.
  const steps = useMemo(() => [...new Set(lines.map(({ step }) => step))], [lines]);
  const { moving, still } = useMemo(() => seriesOf(lines), [lines]);
  const [pointed, setPointed] = useState<number | undefined>();
  const chosen = asked === null ? undefined : Number(asked);
  const choose = (step: number | undefined) => setQuery({ step, task: undefined, group: undefined });
  const move = (by: number) => {
    const at = chosen === undefined ? steps.length - 1 : steps.indexOf(chosen);
    choose(steps[Math.max(0, Math.min(steps.length - 1, at + by))]);
  };
  useKeys([
    ...stepKeys("l", "h", "step", move),
    { keys: "escape", does: "Follow the last step", run: () => choose(undefined) },
  ]);
  const last = chosen ?? steps.at(-1);
  const curve = ([name, points]: (typeof moving)[number]) => (
    <Curve key={name} name={name} points={points} marked={pointed ?? chosen} onPoint={setPointed} onChoose={choose} />
  );
  const more = moving.slice(foremostCurves);
  return (
    <article class="training-screen">
      <header class="run-head">
        <h1>
          Training <bdi>{run.folder}</bdi>
        </h1>
        <div class="chips">
          <FolderChoice
            label="Training"
            folders={runs.map(({ folder }) => folder)}
            folder={run.folder}
            route="/training"
          />
          {run.stage && <Chip text={run.stage} />}
          {run.state && <StateChip state={run.state} />}
          <Chip text={`${steps.length}${run.total ? ` of ${run.total}` : ""} steps`} />
        </div>
        {run.state === "stopped" && (
          <p class="soft">
            Its process is gone and wrote no end. The last step that it wrote, {steps.at(-1) ?? "none"}, is of{" "}
            <time dateTime={new Date(run.lastAt).toISOString()}>{new Date(run.lastAt).toLocaleString()}</time>; the same
            command continues it from its last checkpoint.
          </p>
        )}
      </header>
      {lines.length === 0 && <p class="soft">The first step has not ended yet.</p>}
      <div class="curves">{moving.slice(0, foremostCurves).map(curve)}</div>
      {last !== undefined && <RolloutGroups folder={run.folder} step={last} />}
      {more.length > 0 && (
        <section aria-label="More figures">
          <h2>
            More figures <span class="soft">{more.length}</span>
          </h2>
          <div class="curves">{more.map(curve)}</div>
        </section>
      )}
      {still.length > 0 && (
        <p class="soft chips">
          the same in every step:{" "}
          {still.map(([name, points]) => (
            <Chip text={`${name} ${points[0]![1]}`} />
          ))}
        </p>
      )}
    </article>
  );
}

/** All lines so far; `undefined` until the first answer. */
function useLines<T>(file: string | undefined): { lines?: readonly T[]; error?: string } {
  const [state, setState] = useState<{ file?: string; lines?: T[]; error?: string }>({});
  useEffect(() => {
    if (file === undefined) return undefined;
    const gone = new AbortController();
    let lines: T[] = [];
    let next = 0;
    let busy = false;
    const read = async () => {
      if (busy) return;
      busy = true;
      try {
        for (let more = true; more; ) {
          const query = new URLSearchParams({ file, from: String(next) });
          const view = await askJson<LinesView>(`lines?${query}`, gone.signal);
          // A file that shrank was written again.
          if (view.size < next) {
            lines = [];
            next = 0;
            continue;
          }
          lines = [...lines, ...(view.lines as T[])];
          more = view.next > next && view.next < view.size;
          next = view.next;
          setState({ file, lines });
        }
      } catch (error) {
        if (!gone.signal.aborted) setState({ file, lines, error: (error as Error).message });
      } finally {
        busy = false;
      }
    };
    void read();
    const stop = onEvents(() => void read());
    return () => {
      gone.abort();
      stop();
    };
  }, [file]);
  return state.file === file ? state : {};
}
