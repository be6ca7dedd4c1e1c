/** Training as it happens: every figure as a curve with one cursor, and what was sampled in the step under it. */
import { useMemo, useState } from "preact/hooks";
import type { TrainingView } from "../../api/training-readers.ts";
import { useKeys } from "../keys.ts";
import { Chip, StateChip } from "../parts/chip.tsx";
import { Curve, type Point } from "../parts/curve.tsx";
import { useLines } from "../parts/lines.ts";
import { RolloutGroups } from "../parts/rollout-groups.tsx";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { go, pathPart, place, setQuery } from "../router.ts";
import { useLooks, useResource } from "../server.ts";

type Metrics = Record<string, unknown> & { step: number };

export function TrainingScreen({ params }: { params: Record<string, string> }) {
  const [looks, setLooks] = useState(0);
  const runs = useResource<TrainingView[]>("trainings", () => true, looks);
  const isRunning = runs.data?.some(({ state }) => state === "running") ?? false;
  useLooks(isRunning, setLooks);
  const run = runs.data?.find(({ folder }) => folder === params["folder"]) ?? runs.data?.at(-1);
  const { lines, error } = useLines<Metrics>(run?.metrics);
  if (runs.data?.length === 0) {
    return (
      <Nothing page title="No training yet">
        <p>
          <code>coa train sft .coa/datasets/mine --model … --out .coa/sft</code> teaches a model;{" "}
          <code>coa train rl</code> lets it practise.
        </p>
      </Nothing>
    );
  }
  if (runs.error && !runs.data) return <Problem page title="The trainings can't be shown" detail={runs.error} />;
  if (error) return <Problem page title="The figures can't be read" detail={error} />;
  if (!run || !lines) return <Loading what="the training" />;
  return <Training run={run} runs={runs.data!} lines={lines} />;
}

/** Figures that people look at first, in this order; the others follow as the run wrote them. */
const foremost = ["meanReward", "success", "loss", "heldOutLoss"];

/** Curves above what the step sampled; the others follow below. */
const foremostCurves = 6;

/** Every figure that is a number as a series of its own. */
function seriesOf(lines: readonly Metrics[]): [name: string, points: Point[]][] {
  const series = new Map<string, Point[]>();
  for (const line of lines) {
    for (const [name, value] of Object.entries(line)) {
      if (name === "step" || typeof value !== "number") continue;
      const points = series.get(name);
      if (points) points.push([line.step, value]);
      else series.set(name, [[line.step, value]]);
    }
  }
  const rank = (name: string) => (foremost.includes(name) ? foremost.indexOf(name) : foremost.length);
  return [...series].sort(([a], [b]) => rank(a) - rank(b));
}

function Training({ run, runs, lines }: { run: TrainingView; runs: TrainingView[]; lines: readonly Metrics[] }) {
  const asked = place.value.query.get("step");
  // A step that was evaluated has two lines.
  const steps = useMemo(() => [...new Set(lines.map(({ step }) => step))], [lines]);
  const series = useMemo(() => seriesOf(lines), [lines]);
  const [pointed, setPointed] = useState<number | undefined>();
  const chosen = asked === null ? undefined : Number(asked);
  const choose = (step: number | undefined) => setQuery({ step, task: undefined, group: undefined });
  const move = (by: number) => {
    const at = chosen === undefined ? steps.length - 1 : steps.indexOf(chosen);
    choose(steps[Math.max(0, Math.min(steps.length - 1, at + by))]);
  };
  useKeys(
    [
      { keys: "l", does: "Next step", run: () => move(1) },
      { keys: "h", does: "Previous step", run: () => move(-1) },
      { keys: "escape", does: "Follow the last step", run: () => choose(undefined) },
    ],
    [steps.length, chosen],
  );
  const last = chosen ?? steps.at(-1);
  const moving = series.filter(
    ([, points]) => points.length === 1 || points.some(([, value]) => value !== points[0]![1]),
  );
  const curve = ([name, points]: (typeof moving)[number]) => (
    <Curve key={name} name={name} points={points} marked={pointed ?? chosen} onPoint={setPointed} onChoose={choose} />
  );
  const still = series.filter((one) => !moving.includes(one));
  return (
    <article class="training-screen">
      <header class="run-head">
        <h1>
          Training <bdi>{run.folder}</bdi>
        </h1>
        <div class="chips">
          {runs.length > 1 && (
            <select
              aria-label="Training"
              value={run.folder}
              onChange={(event) => go(`/training/${pathPart(event.currentTarget.value)}`)}
            >
              {runs.map(({ folder }) => (
                <option value={folder}>{folder}</option>
              ))}
            </select>
          )}
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
      {moving.length > foremostCurves && (
        <section class="more-curves" aria-label="More figures">
          <h2>
            More figures <span class="soft">{moving.length - foremostCurves}</span>
          </h2>
          <div class="curves">{moving.slice(foremostCurves).map(curve)}</div>
        </section>
      )}
      {still.length > 0 && (
        <p class="soft still">
          the same in every step:{" "}
          {still.map(([name, points]) => (
            <Chip text={`${name} ${points[0]![1]}`} />
          ))}
        </p>
      )}
    </article>
  );
}
