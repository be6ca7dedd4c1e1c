/** Who worked when: one lane for each agent, one bar for each model call, with its tool calls below it. */
import { count, duration } from "../../../report/format-figures.ts";
import { axisSteps } from "../../../report/svg-plots.ts";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView, StepView } from "../../api/run-view.ts";
import { type Axis, axisOf } from "./clock.ts";
import { hueOf } from "./hues.ts";
import { select, selectedStep } from "./selection.ts";

export function Gantt({ run, chain }: { run: RunView; chain?: ChainView }) {
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
  const shown = axis.at ? (axis.length < 10 ? shortTime : duration) : count;
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

/** Milliseconds of a run that took a few of them. */
function shortTime(ms: number): string {
  return `${Number(ms.toFixed(1))} ms`;
}
