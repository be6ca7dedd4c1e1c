/** Where each step of a run stands on the axis: by time where the recording has times that can be told apart, else by order. */
import type { RunView } from "../../api/run-view.ts";

export interface Axis {
  /** Where each step stands, from 0 to 1. */
  steps: ReadonlyMap<string, { from: number; to: number }>;
  /** A moment of the recording on the axis; absent where steps stand by their order. */
  at?: (ms: number) => number;
  /** The whole length, in milliseconds or steps. */
  length: number;
}

export function axisOf({ steps }: RunView): Axis {
  const last = Math.max(0, ...steps.map((step) => step.end ?? step.start ?? 0));
  const wide = steps.filter((step) => (step.end ?? 0) - (step.start ?? 0) > last / 250);
  if (last > 0 && wide.length * 2 >= steps.length) {
    const length = Math.max(last, ...steps.flatMap(({ calls }) => calls.map((call) => call.end ?? 0)));
    const stretches = steps.map(({ id, start = 0, end = start }) => {
      const from = start / length;
      return [id, { from, to: Math.max(from + 0.004, end / length) }] as const;
    });
    return { steps: new Map(stretches), at: (ms) => ms / length, length };
  }
  const length = steps.length || 1;
  const stretches = steps.map(({ id }, index) => [id, { from: index / length, to: (index + 1) / length }] as const);
  return { steps: new Map(stretches), length };
}
