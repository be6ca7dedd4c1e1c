/** How values are spread: how many fall into each of up to 40 steps of one width. */

/** One step; `to` is not part of it unless it is the last. */
export interface SpreadStep {
  from: number;
  to: number;
  count: number;
}

const mostSteps = 40;

/** Steps from 0 to a highest value; whole values have steps of whole width. */
export function spreadOf(values: readonly number[], high: number): SpreadStep[] {
  const whole = values.every(Number.isInteger);
  const width = whole ? Math.max(1, Math.ceil((high + 1) / mostSteps)) : high / mostSteps;
  const steps = Array.from({ length: whole ? Math.ceil((high + 1) / width) : mostSteps }, (_, index) => ({
    from: index * width,
    to: (index + 1) * width,
    count: 0,
  }));
  for (const value of values) steps[Math.min(steps.length - 1, Math.floor(value / width))]!.count++;
  return steps;
}
