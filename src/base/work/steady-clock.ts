/**
 * Time for what lasts: deadlines, budgets, leases, rate limits. The machine's clock is set forwards and backwards while
 * programs run; a deadline by it would end at once, or never.
 */

/** Milliseconds since 1970, as the machine's clock said when this process started, plus what has passed since. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
