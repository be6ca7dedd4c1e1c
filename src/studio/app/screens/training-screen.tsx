/** Training as it happens: every figure as a curve with one cursor, and what was sampled in the step under it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, signed } from "../../../report/format-figures.ts";
import type { LinesView } from "../../api/item-readers.ts";
import type { RolloutGroup, RolloutView, StepRollouts, TrainingView } from "../../api/training-readers.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Button } from "../parts/button.tsx";
import { Chip, StateChip } from "../parts/chip.tsx";
import { FolderChoice } from "../parts/choice.tsx";
import { cursor } from "../parts/selection.ts";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { type Metrics, nearestStep, type Point, pointAt, seriesOf, thinned } from "../parts/training-series.ts";
import { href, pathPart, place, setQuery } from "../router.ts";
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

interface Props {
  name: string;
  points: readonly Point[];
  /** The step that is marked; the last one speaks where none is. */
  marked?: number;
  /** Told which step is under the pointer; undefined when it leaves. */
  onPoint(step: number | undefined): void;
  onChoose(step: number): void;
}

const width = 320;
const height = 90;

/** Beyond this many points a pixel holds several: its lowest and highest stand for them. */
const mostPoints = 2 * width;

/** One figure over the steps of a training. The step under the pointer, or the one that was taken, is marked on all curves. */
function Curve({ name, points, marked, onPoint, onChoose }: Props) {
  const { low, high, first, last, x, y, line } = useMemo(() => drawnCurve(points), [points]);
  const at = (marked === undefined ? undefined : pointAt(points, marked)) ?? points.at(-1);
  const stepUnder = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    return nearestStep(points, first + ((event.clientX - box.left) / box.width) * (last - first));
  };
  return (
    <figure class="panel curve">
      <figcaption class="split small">
        <b class="one-line" title={name} dir="auto">
          {name}
        </b>
        <span class="soft">{at ? `${shortNumber(at[1])} at step ${at[0]}` : "no value yet"}</span>
      </figcaption>
      <div class="curve-plot">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys h and l move the step on the whole screen */}
        <svg
          class="plot"
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name}: from ${shortNumber(low)} to ${shortNumber(high)} over steps ${first} to ${last}`}
          onClick={(event) => onChoose(stepUnder(event))}
          onMouseMove={(event) => onPoint(stepUnder(event))}
          onMouseLeave={() => onPoint(undefined)}
        >
          {at && marked !== undefined && <line class="cursor" x1={x(at[0])} x2={x(at[0])} y1={0} y2={height} />}
          <polyline points={line} />
        </svg>
        {at && (
          <i
            class="curve-dot"
            style={{ left: `${(100 * x(at[0])) / width}%`, top: `${(100 * y(at[1])) / height}%` }}
            aria-hidden="true"
          />
        )}
        <span class="curve-high soft tiny">{shortNumber(high)}</span>
        {low !== high && <span class="soft tiny">{shortNumber(low)}</span>}
      </div>
      <p class="curve-steps split soft tiny">
        <span>step {first}</span>
        {last !== first && <span>{last}</span>}
      </p>
    </figure>
  );
}

function drawnCurve(points: readonly Point[]) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [, value] of points) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const first = points[0]?.[0] ?? 0;
  const last = points.at(-1)?.[0] ?? 1;
  const x = (step: number) => (last === first ? width / 2 : ((step - first) / (last - first)) * width);
  const y = (value: number) =>
    high === low ? height / 2 : height - 6 - ((value - low) / (high - low)) * (height - 12);
  const line = thinned(points, mostPoints)
    .map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`)
    .join(" ");
  return { low, high, first, last, x, y, line };
}

function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "none";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 0.001 || size >= 1e6) ? size.toExponential(2) : `${Number(size.toPrecision(4))}`;
  return value < 0 ? `−${text}` : text;
}

/** What a step of RL sampled, task by task; or one task through the steps. Each answer opens as a chain. */
function RolloutGroups({ folder, step }: { folder: string; step: number }) {
  const { query } = place.value;
  const task = query.get("task");
  // Figures are numbered from 1, when a step has ended; what it sampled is numbered from 0, when it began.
  const asked = new URLSearchParams({ folder, ...(task === null ? { step: String(step - 1) } : { task }) });
  const { data, error } = useResource<StepRollouts>(`rollouts?${asked}`, {
    live: ({ type }) => type === "idle",
  });
  const groups = data?.groups ?? [];
  const { at, move } = cursor("group", groups.length);
  useKeys([
    ...stepKeys("j", "k", task === null ? "task of the step" : "step of the task", move),
    {
      keys: "enter",
      does: task === null ? "This task through the steps" : "The step of this group",
      run: () => groups[at] && setQuery(otherWay(groups[at], task)),
    },
  ]);
  if (error && !data) return <Problem title="The rollouts can't be shown" detail={error} />;
  if (!data || (groups.length === 0 && task === null)) return null;
  const title = task === null ? `Rollouts of step ${step}` : "One task through the steps";
  return (
    <section class="rollout-groups" aria-label={title}>
      <h2>
        {title}{" "}
        <span class="soft">{task === null ? `${groups.length} tasks` : <bdi>{groups[0]?.question || task}</bdi>}</span>{" "}
        {task !== null && (
          <Button
            text={`all tasks of step ${step}`}
            quiet
            onClick={() => setQuery({ task: undefined, group: undefined })}
          />
        )}
      </h2>
      {groups.length === 0 && <p class="soft">No step has sampled this task.</p>}
      <ul class="plain">
        {groups.map((group, index) => (
          <li class={`cells${index === at ? " selected" : ""}`} aria-current={index === at ? "true" : undefined}>
            <Group group={group} task={task} file={data.file} />
          </li>
        ))}
      </ul>
      {data.more > 0 && <p class="not-loaded">more rollouts than {count(groups.length)} groups hold are not loaded</p>}
    </section>
  );
}

/** From a step's tasks to a task's steps, and back. */
function otherWay(group: RolloutGroup, task: string | null) {
  return task === null
    ? { task: group.task, group: undefined }
    : { task: undefined, group: undefined, step: group.step + 1 };
}

function Group({ group, task, file }: { group: RolloutGroup; task: string | null; file?: string }) {
  const { question, rollouts, baseline, dropped, step } = group;
  return (
    <>
      <button type="button" class="group-name bare one-line" onClick={() => setQuery(otherWay(group, task))}>
        <bdi class="one-line">{task === null ? question || group.task : `step ${step + 1}`}</bdi>
      </button>
      <span class="chips">
        {rollouts.map((rollout) => (
          <Rollout rollout={rollout} file={file} />
        ))}
      </span>
      <span class="group-figures chips soft small">
        {baseline !== undefined && `baseline ${Number(baseline.toFixed(3))}`}
        {dropped !== undefined && <Chip text={`not used: ${dropped}`} hue="amber" />}
        <a href={href(`/compare/${pathPart(group.task)}`)}>compare</a>
      </span>
    </>
  );
}

function Rollout({ rollout, file }: { rollout: RolloutView; file?: string }) {
  const { key, reward, ending, billed, advantage, clippedTokens } = rollout;
  const facts = [
    ending,
    `${count(billed)} tokens billed`,
    advantage === undefined ? "not part of an update" : `advantage ${signed(advantage)}`,
    clippedTokens ? `${clippedTokens} tokens clipped` : "",
  ].filter(Boolean);
  return (
    <a
      class={`rollout tint tiny hue-${reward === null ? "none" : reward > 0 ? "green" : "rose"}`}
      href={href(`/chains/${pathPart(key)}`, { in: file })}
      title={`${key}: ${facts.join(", ")}`}
    >
      <b>{reward === null ? "?" : Number(reward.toFixed(2))}</b>{" "}
      {advantage !== undefined && <small>{signed(advantage)}</small>}
    </a>
  );
}
