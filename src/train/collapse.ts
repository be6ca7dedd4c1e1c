/**
 * Signs that reinforcement destroys what it trained. Rewards that rose and fall again well beyond their noise mean a rate that is
 * too high for what few groups say; a policy whose entropy is nearly gone writes the same rollout every time and learns nothing more.
 */

/** Steps whose mean is compared with that of others. */
const window = 8;

/** What to do about a run that collapses, or undefined where none of the signs is there. */
export function collapseSign(rewards: readonly number[], entropies: readonly number[]): string | undefined {
  const means = windows(rewards);
  const [best, last] = [Math.max(0, ...means), means.at(-1) ?? 0];
  const fall = best - last;
  if (means.length > 0 && fall > 0.15 * best && fall > 4 * noise(rewards) * Math.sqrt(2 / window))
    return `reward fell from ${best.toFixed(2)} to ${last.toFixed(2)}: lower --rate, or use --preset verifiable (a falling rate, scaled by the groups that teach)`;
  const [first, now] = [windows(entropies).at(0) ?? 0, windows(entropies).at(-1) ?? 0];
  if (first > 0.01 && now < first / 5)
    return `entropy fell from ${first.toPrecision(2)} to ${now.toPrecision(2)}: rollouts are becoming equal; raise train.clipHigh or train.temperature, or take harder tasks`;
  return undefined;
}

/** The mean of every run of `window` values. */
function windows(values: readonly number[]): number[] {
  return values.slice(window - 1).map((_, from) => {
    return values.slice(from, from + window).reduce((sum, value) => sum + value, 0) / window;
  });
}

/** Standard deviation of one value, from the differences of neighbours: a slow rise or fall is not noise. */
function noise(values: readonly number[]): number {
  const squares = values.slice(1).reduce((sum, value, at) => sum + (value - values[at]!) ** 2, 0);
  return Math.sqrt(squares / 2 / Math.max(1, values.length - 1));
}
