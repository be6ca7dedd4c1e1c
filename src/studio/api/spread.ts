/** How values are spread: how many fall into each of up to 40 steps of one width. */

/** One step; `to` is not part of it unless it is the last. */
export interface SpreadStep {
  from: number;
  to: number;
  kept: number;
  dropped: number;
}

const mostSteps = 40;

/** Steps from the lowest to the highest value, or over a given range; whole values have steps of whole width. */
export function spreadOf(
  values: readonly { value: number; kept: boolean }[],
  range?: readonly [low: number, high: number],
): SpreadStep[] {
  const [low, high] =
    range ?? values.reduce(([a, b], { value }) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const whole = values.every(({ value }) => Number.isInteger(value));
  const width = whole ? Math.max(1, Math.ceil((high - low + 1) / mostSteps)) : Math.max((high - low) / mostSteps, 1e-9);
  const count = Math.min(mostSteps, Math.max(1, whole ? Math.ceil((high - low + 1) / width) : mostSteps));
  const steps = Array.from({ length: count }, (_, index) => ({
    from: low + index * width,
    to: low + (index + 1) * width,
    kept: 0,
    dropped: 0,
  }));
  for (const { value, kept } of values)
    steps[Math.max(0, Math.min(count - 1, Math.floor((value - low) / width)))]![kept ? "kept" : "dropped"]++;
  return steps;
}
