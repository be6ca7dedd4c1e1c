/** Where each step of a run stands on the axis: by time, by order, or by the tokens it cost. */
import type { RunView, StepView } from "../../api/run-view.ts";

export type Clock = "time" | "order" | "tokens";
export const clocks: readonly Clock[] = ["time", "order", "tokens"];

/** A stretch of the axis, from 0 to 1. */
export interface Stretch {
  from: number;
  to: number;
}

/** The axis of a run. */
export interface Axis {
  clock: Clock;
  steps: ReadonlyMap<string, Stretch>;
  /** A moment of the recording on the axis; only where the clock is time. */
  at?: (ms: number) => number;
  /** The whole length in the clock's unit. */
  length: number;
}

/** The clock that shows most: time where the recording has times that can be told apart, else the order. */
export function usualClock(run: RunView): Clock {
  const length = Math.max(0, ...run.steps.map((step) => step.end ?? step.start ?? 0));
  const wide = run.steps.filter((step) => (step.end ?? 0) - (step.start ?? 0) > length / 250);
  return length > 0 && wide.length * 2 >= run.steps.length ? "time" : "order";
}

/** Places the steps. */
export function axisOf(run: RunView, clock: Clock): Axis {
  const steps = new Map<string, Stretch>();
  if (clock === "time") {
    const length = Math.max(1, ...run.steps.map((step) => Math.max(step.end ?? 0, step.start ?? 0, ...callEnds(step))));
    for (const step of run.steps) {
      const from = (step.start ?? 0) / length;
      steps.set(step.id, { from, to: Math.max(from + 0.004, (step.end ?? step.start ?? 0) / length) });
    }
    return { clock, steps, at: (ms) => ms / length, length };
  }
  const weight = ({ tokens }: StepView) => (clock === "order" ? 1 : Math.max(1, tokens.prompt + tokens.completion));
  const length = run.steps.reduce((sum, step) => sum + weight(step), 0) || 1;
  let before = 0;
  for (const step of run.steps) {
    const from = before / length;
    before += weight(step);
    steps.set(step.id, { from, to: before / length });
  }
  return { clock, steps, length };
}

function callEnds(step: StepView): number[] {
  return step.calls.map((call) => call.end ?? 0);
}
