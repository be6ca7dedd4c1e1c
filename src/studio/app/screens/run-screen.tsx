/**
 * The team run beside the chain it became. Above, who worked when and what was read again and again; below, the team's
 * steps and the chain's segments, joined by lines. Each step is either shown by a segment or says why it is left out.
 */
import { useEffect, useRef } from "preact/hooks";
import { count, duration } from "../../../report/format-figures.ts";
import { axisSteps } from "../../../report/svg-plots.ts";
import type { BesideView } from "../../api/beside-reader.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView, StepView } from "../../api/run-view.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Chip, RewardChip } from "../parts/chip.tsx";
import { Choice } from "../parts/choice.tsx";
import { type Axis, axisOf } from "../parts/clock.ts";
import { bend, useConnections } from "../parts/connections.ts";
import { hueOf } from "../parts/hues.ts";
import { Asked } from "../parts/long-text.tsx";
import { RunFigures } from "../parts/run-figures.tsx";
import { SegmentList } from "../parts/segment-list.tsx";
import { select, selectedStep, selection } from "../parts/selection.ts";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { StepList } from "../parts/step-list.tsx";
import { go, pathPart, place, setQuery } from "../router.ts";
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
    {
      keys: "o",
      does: "Unfold what the step had seen before",
      run: () => document.querySelector(".row.open details")?.toggleAttribute("open"),
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

const width = 88;

interface Line {
  agent: string;
  step: string;
  d: string;
  filled?: boolean;
}

/** The lines between the team's steps and the segments they became; a step that is left out ends in a stub. */
function Links({ run, chain }: { run: RunView; chain?: ChainView }) {
  const gutter = useRef<HTMLDivElement>(null);
  const chosen = selectedStep(chain);
  const draw = (element: HTMLElement) => (chain ? linesOf(chain, element) : []);
  const lines = useConnections(gutter, ".rows", draw, [run, chain, chosen, selection().segment]);
  const roles = new Map(run.agents.map((agent) => [agent.id, agent.role]));
  // The selected lines last, above all others.
  const sorted = lines.toSorted((a, b) => Number(a.step === chosen) - Number(b.step === chosen));
  return (
    <div class="gutter" ref={gutter} aria-hidden="true">
      <svg width={width}>
        <title>Which segments came from which step</title>
        {sorted.map(({ agent, step, d, filled }) => (
          <path
            class={`hue-${hueOf(roles.get(agent) ?? agent)}${step === chosen ? " selected" : ""}${filled ? " filled" : ""}`}
            d={d}
          />
        ))}
      </svg>
    </div>
  );
}

function linesOf(chain: ChainView, gutter: HTMLElement): Line[] {
  const { top } = gutter.getBoundingClientRect();
  const middles = (attribute: string) => {
    const rows = [...gutter.parentElement!.querySelectorAll(`[${attribute}]`)];
    return new Map(
      rows.map((row) => {
        const box = row.firstElementChild!.getBoundingClientRect();
        return [row.getAttribute(attribute), Number((box.top + box.height / 2 - top).toFixed(1))];
      }),
    );
  };
  const [steps, segments] = [middles("data-step"), middles("data-segment")];
  const shown = chain.segments.flatMap(({ index, from, filled }): Line[] => {
    const [left, right] = [steps.get(from?.step ?? ""), segments.get(String(index))];
    if (!from || left === undefined || right === undefined) return [];
    return [{ ...from, d: bend(0, left, width, right), filled }];
  });
  const leftOut = chain.leftOut.flatMap(({ step, agent }): Line[] => {
    const at = steps.get(step);
    return at === undefined ? [] : [{ step, agent, d: `M 0 ${at} H 12 M 12 ${at - 4} V ${at + 4}` }];
  });
  return [...shown, ...leftOut];
}

/** What a run was about and how it ended. */
function RunHead({ view }: { view: BesideView }) {
  const { run, chain, chains, places } = view;
  const question = run?.question ?? chain?.prompt.findLast(({ role }) => role === "user")?.text;
  const { family = chain?.family, ending } = run ?? chain ?? {};
  return (
    <header class="run-head">
      <Asked title="h1" question={question} answer={chain?.answer ?? run?.answer} none="none" />
      <div class="chips">
        {run && <Chip text={run.topology} title="How the agents share context" />}
        {run && <Chip text={`recorded by ${run.source}`} />}
        {family && <Chip text={family} title="Family of the task" />}
        {ending && (
          <Chip text={ending.reason} hue={ending.reason === "answered" ? "green" : "rose"} title={ending.detail} />
        )}
        <RewardChip reward={chain?.reward} />
        {chain && chain.violations.length > 0 && (
          <Chip
            text={`${chain.violations.length} violations`}
            hue="rose"
            title={chain.violations.map(({ message }) => message).join("\n")}
          />
        )}
        {run?.untrainable.map(({ reason, detail }) => (
          <Chip text={`not for training: ${reason}`} hue="rose" title={detail} />
        ))}
        {run?.notes.map((note) => (
          <Chip text={note} hue="amber" />
        ))}
      </div>
      <p class="place soft tiny">
        {[places.run, places.chain].filter((one) => one !== undefined).join("  →  ")}
        {chains.length > 1 && (
          <Choice
            label=" chain"
            value={place.value.query.get("chain") ?? chain?.id ?? ""}
            options={chains.map(({ key, file }) => [key, `${key} in ${file}`])}
            onChoose={(key) => setQuery({ chain: key })}
          />
        )}
      </p>
    </header>
  );
}

/** Who worked when: one lane for each agent, one bar for each model call, with its tool calls below it. */
function Gantt({ run, chain }: { run: RunView; chain?: ChainView }) {
  const axis = axisOf(run);
  const selected = selectedStep(chain);
  const agents = new Map(run.agents.map((agent) => [agent.id, agent]));
  // Activations of one agent share a lane.
  const lanes = Map.groupBy(run.steps, ({ agent }) => agents.get(agent)?.name ?? agent);
  const leftOut = new Set(chain?.leftOut.map((one) => one.step));
  return (
    <section class="gantt panel" aria-label="Steps by agent">
      <h2>Who worked when</h2>
      <div class="lanes">
        {[...lanes].map(([name, steps]) => {
          const activations = new Set(steps.map(({ agent }) => agent)).size;
          return (
            <div class={`lane cells hue-${hueOf(agents.get(steps[0]!.agent)?.role ?? name)}`}>
              <span class="lane-name one-line small">
                <bdi>{name}</bdi>
                {activations > 1 && <span class="soft"> ×{activations}</span>}
              </span>
              <div class="lane-bars">
                {steps.map((one) => (
                  <Bar
                    step={one}
                    axis={axis}
                    selected={one.id === selected}
                    leftOut={leftOut.has(one.id)}
                    name={name}
                  />
                ))}
              </div>
            </div>
          );
        })}
        <Ticks axis={axis} />
      </div>
    </section>
  );
}

function Bar(props: { step: StepView; axis: Axis; selected: boolean; leftOut: boolean; name: string }) {
  const { step, axis, selected, leftOut, name } = props;
  const { from, to } = axis.steps.get(step.id)!;
  const label = `${name}: ${step.move ?? "step"} ${step.number}, ${count(step.tokens.prompt)} tokens read, ${count(step.tokens.completion)} written${leftOut ? ", left out of the chain" : ""}`;
  return (
    <>
      <button
        type="button"
        tabIndex={-1}
        class={`gantt-bar${selected ? " selected" : ""}${leftOut ? " hatched" : ""}${step.error ? " failed" : ""}`}
        style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }}
        title={label}
        aria-label={label}
        onClick={() => select({ step: step.id })}
      />
      {axis.at &&
        step.calls.map((call) =>
          call.start === undefined || call.end === undefined || call.delegatesTo !== undefined ? null : (
            <i
              class="gantt-call"
              title={`${call.name}, ${duration(call.end - call.start)}`}
              style={{
                left: `${axis.at!(call.start) * 100}%`,
                width: `${Math.max(0.3, (axis.at!(call.end) - axis.at!(call.start)) * 100)}%`,
              }}
            />
          ),
        )}
    </>
  );
}

function Ticks({ axis }: { axis: Axis }) {
  const shown = axis.at ? (axis.length < 10 ? (ms: number) => `${Number(ms.toFixed(1))} ms` : duration) : count;
  const at = axisSteps(axis.length, 6).filter((value) => value <= axis.length);
  return (
    <div class="ticks soft tiny" aria-hidden="true">
      {at.map((value, index) => (
        <span style={{ left: `${(100 * value) / axis.length}%` }}>
          {shown(value)}
          {!axis.at && index === at.length - 1 ? " steps" : ""}
        </span>
      ))}
    </div>
  );
}
