/** Training as it happens: every figure as a curve with one cursor, and what was sampled in the step under it. */
import { useEffect, useState } from "preact/hooks";
import type { StepRollouts, TrainingView } from "../../api/training-readers.ts";
import { useKeys } from "../keys.ts";
import { Chip } from "../parts/chip.tsx";
import { Curve } from "../parts/curve.tsx";
import { useLines } from "../parts/lines.ts";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";
import { staticStudio } from "../static-data.ts";

type Metrics = Record<string, unknown> & { step: number };

export function TrainingScreen({ params }: { params: Record<string, string> }) {
  const [looks, setLooks] = useState(0);
  const runs = useResource<TrainingView[]>("trainings", () => true, looks);
  const isRunning = runs.data?.some(({ state }) => state === "running") ?? false;
  // That a run has ended stands in its manifest, of which no event tells.
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setLooks((number) => number + 1), 2_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  const run = runs.data?.find(({ folder }) => folder === params["folder"]) ?? runs.data?.at(-1);
  const { lines, error } = useLines<Metrics>(run?.metrics);
  if (runs.data?.length === 0) {
    return (
      <Nothing title="No training yet">
        <p>
          <code>coa train sft .coa/datasets/mine --model … --out .coa/sft</code> teaches a model;{" "}
          <code>coa train rl</code> lets it practise.
        </p>
      </Nothing>
    );
  }
  if (runs.error && !runs.data) return <Problem title="The trainings can't be shown" detail={runs.error} />;
  if (error) return <Problem title="The figures can't be read" detail={error} />;
  if (!run || !lines) return <Loading what="the training" />;
  return <Training run={run} runs={runs.data!} lines={lines} />;
}

function Training({ run, runs, lines }: { run: TrainingView; runs: TrainingView[]; lines: readonly Metrics[] }) {
  const asked = place.value.query.get("step");
  const steps = lines.map(({ step }) => step);
  const chosen = asked === null ? undefined : Number(asked);
  const choose = (step: number | undefined) => setQuery({ step });
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
  const names = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter(
    (name) => name !== "step" && lines.some((line) => typeof line[name] === "number"),
  );
  const last = chosen ?? steps.at(-1);
  return (
    <article class="training-screen">
      <header class="run-head">
        <h1>
          Training <bdi>{run.folder}</bdi>
        </h1>
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
        <div class="chips">
          {run.stage && <Chip text={run.stage} />}
          {run.state && <Chip text={run.state} hue={run.state === "failed" ? "rose" : undefined} />}
          <Chip text={`${lines.length} steps${run.total ? ` of ${run.total}` : ""}`} />
        </div>
      </header>
      {lines.length === 0 && <p class="soft">The first step has not ended yet.</p>}
      <div class="curves">
        {names.map((name) => (
          <Curve
            name={name}
            points={lines.flatMap((line) => (typeof line[name] === "number" ? [[line.step, line[name]] as const] : []))}
            chosen={chosen}
            onChoose={choose}
          />
        ))}
      </div>
      {last !== undefined && <Rollouts folder={run.folder} step={last} />}
    </article>
  );
}

function Rollouts({ folder, step }: { folder: string; step: number }) {
  // Figures are numbered from 1, when a step has ended; what it sampled is numbered from 0, when it began.
  const query = new URLSearchParams({ folder, step: String(step - 1) });
  const { data, error } = useResource<StepRollouts>(`rollouts?${query}`, (event) => event.type === "idle");
  if (error && staticStudio) return <p class="not-loaded">What this step sampled is not part of the export.</p>;
  if (error && !data) return <Problem title="The rollouts can't be shown" detail={error} />;
  if (!data || data.groups.length === 0) return null;
  return (
    <section class="rollout-groups" aria-label={`Rollouts of step ${step}`}>
      <h2>
        Step {step} <span class="soft">{data.groups.length} tasks</span>
      </h2>
      <ul>
        {data.groups.map(({ task, question, rollouts }) => (
          <li>
            <a class="one-line" href={href(`/compare/${pathPart(task)}`)}>
              <bdi>{question || task}</bdi>
            </a>
            <span class="rollout-row">
              {rollouts.map(({ key, reward, ending }) => (
                <a
                  class={`rollout ${reward === null ? "undecided" : reward > 0 ? "right" : "wrong"}`}
                  href={href(`/chains/${pathPart(key)}`, { in: data.file })}
                  title={`${key}: ${ending}`}
                >
                  {reward === null ? "?" : Number(reward.toFixed(2))}
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
