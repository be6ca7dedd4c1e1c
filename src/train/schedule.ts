export interface Schedule {
  /** Steps of linear rise from 0. */
  warmupSteps: number;
  /** `linear` and `cosine` fall to `floor` over the last `decayShare` of all steps. */
  decay: "constant" | "linear" | "cosine";
  /** Share of the steps, counted from the end, over which the rate falls. 1 = right after the warm-up. */
  decayShare: number;
  /** What is left at the end, as a share of the peak. */
  floor: number;
}

/** A cosine from the peak to zero over all steps, without a warm-up. */
export const defaultSchedule: Schedule = { warmupSteps: 0, decay: "cosine", decayShare: 1, floor: 0 };

/** The factor on the peak learning rate at `step` (0-based) of `totalSteps`. */
export function scheduleFactor(schedule: Schedule, step: number, totalSteps: number): number {
  const { warmupSteps, decay, decayShare, floor } = schedule;
  if (step < warmupSteps) return (step + 1) / warmupSteps;
  if (decay === "constant") return 1;
  const start = Math.max(warmupSteps, totalSteps * (1 - decayShare));
  if (step < start) return 1;
  const progress = Math.min(1, (step - start) / Math.max(1, totalSteps - start));
  const left = decay === "linear" ? 1 - progress : 0.5 * (1 + Math.cos(Math.PI * progress));
  return floor + (1 - floor) * left;
}

/** Longest context of a chain, from a step on: short ones first, long ones once the model can use them. */
export interface ContextStage {
  fromStep: number;
  tokens: number;
}

/** The longest context at `step`: that of the last stage that has begun, and never more than the engine's own. */
export function contextAt(stages: readonly ContextStage[] | undefined, step: number, engineContext: number): number {
  const begun = stages?.filter(({ fromStep }) => fromStep <= step) ?? [];
  return Math.min(engineContext, begun.at(-1)?.tokens ?? engineContext);
}
