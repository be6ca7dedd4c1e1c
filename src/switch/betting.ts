/**
 * Tests by betting, of losses that are -1 (the model gained what the team lost), 0 or 1 (the model lost what the team had).
 * A gambler starts with 1 and bets before each task against a hypothesis on the mean loss; if the hypothesis is true the
 * capital is at most 1 on average, so it passes 1/d with a chance of at most d, however often one looks (Ville). The bets are
 * fixed beforehand and their capitals averaged, so that three counts say everything and the order of the tasks does not matter.
 */

/** How often a loss was 1, -1 and 0. */
export interface LossCounts {
  harms: number;
  gains: number;
  ties: number;
}

/** Bets as shares of the largest allowed one, with their weights. */
export type Bets = readonly (readonly [share: number, weight: number])[];

const shares = [0.002, 0.005, 0.01, 0.02, 0.035, 0.06, 0.1, 0.16, 0.25, 0.38, 0.55, 0.75, 0.97];

/** Bets for when nothing is known before. */
export const spreadBets: Bets = shares.map((share) => [share, 1 / shares.length]);

/** The same, with most of the weight on the bet that would grow fastest at these rates. */
export function informedBets(expected: LossCounts, bound: number): Bets {
  const n = expected.harms + expected.gains + expected.ties + 2;
  // Half a harm more than were seen: a bet that the first harm ruins is never the best.
  const rates = { harms: (expected.harms + 0.5) / n, gains: expected.gains / n, ties: (expected.ties + 1.5) / n };
  const growth = (share: number) => logGrowth(rates, bound, share, "below");
  const grid = Array.from({ length: 60 }, (_, at) => 0.97 * (at / 59) ** 2 + 0.001);
  const best = grid.reduce((one, other) => (growth(other) > growth(one) ? other : one));
  return [[best, 0.85], ...spreadBets.map(([share, weight]) => [share, weight * 0.15] as const)];
}

type Side = "below" | "above";

/** The logarithm of a capital that bets `share` of the largest allowed stake on a mean loss below (or above) the bound. */
function logGrowth({ harms, gains, ties }: LossCounts, bound: number, share: number, side: Side): number {
  // A stake is allowed as long as the worst outcome leaves something.
  const stake = side === "below" ? share / (1 - bound) : -share / (1 + bound);
  const grown = (times: number, loss: number) => (times === 0 ? 0 : times * Math.log1p(stake * (bound - loss)));
  return grown(harms, 1) + grown(gains, -1) + grown(ties, 0);
}

function logCapital(counts: LossCounts, bound: number, side: Side, bets: Bets): number {
  const logs = bets.map(([share, weight]) => Math.log(weight) + logGrowth(counts, bound, share, side));
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - most), 0));
}

/** Evidence against "the mean loss is above the bound", as a p-value that is valid at every time. */
export function belowPValue(counts: LossCounts, bound: number, bets: Bets = spreadBets): number {
  return Math.min(1, Math.exp(-logCapital(counts, bound, "below", bets)));
}

/** Evidence against "the mean loss is at most the bound", as a p-value that is valid at every time. */
export function abovePValue(counts: LossCounts, bound: number): number {
  return Math.min(1, Math.exp(-logCapital(counts, bound, "above", spreadBets)));
}

/** Requests after which a part of the capital that was held back is staked. */
const blockSize = 100;

/**
 * Evidence against "the share of hits is at most the bound" that also finds a share which rises late: one capital that is staked at
 * the beginning is lost in a long good time, and a break after it would go unseen. So the j-th hundred requests begin with 1/(j(j+1))
 * of the money, which is all of it in the end. Its p-value is valid at every time.
 */
export function watchShare(bound: number): { add(hit: boolean): void; readonly pValue: number } {
  let capitals = shares.map(() => 0);
  let [seen, held] = [0, 1];
  return {
    add(hit) {
      const block = seen++ % blockSize === 0 ? Math.ceil(seen / blockSize) : 0;
      const staked = block === 0 ? 0 : 1 / (block * (block + 1));
      held -= staked;
      capitals = capitals.map((capital, at) => {
        const share = shares[at]!;
        return (capital + staked / shares.length) * (hit ? 1 + share * (1 / bound - 1) : 1 - share);
      });
    },
    get pValue() {
      return Math.min(1, 1 / capitals.reduce((sum, capital) => sum + capital, Math.max(0, held)));
    },
  };
}

/** The mean loss with a confidence sequence: at all times together it holds the truth with this confidence. */
export function lossInterval(counts: LossCounts, confidence = 0.95): { value: number; low: number; high: number } {
  const n = counts.harms + counts.gains + counts.ties;
  if (n === 0) return { value: 0, low: -1, high: 1 };
  const value = (counts.harms - counts.gains) / n;
  const level = (1 - confidence) / 2;
  const low = border(value, -1, (bound) => abovePValue(counts, bound) > level);
  const high = border(value, 1, (bound) => belowPValue(counts, bound) > level);
  return { value, low, high };
}

/** The last bound between the estimate and an end of the range that is not refuted. */
function border(from: number, end: number, holds: (bound: number) => boolean): number {
  const inside = 1 - 1e-9;
  let [held, refuted] = [Math.max(-inside, Math.min(inside, from)), end * inside];
  if (holds(refuted)) return end;
  for (let step = 0; step < 40; step++) {
    const middle = (held + refuted) / 2;
    if (holds(middle)) held = middle;
    else refuted = middle;
  }
  return held;
}

/** P(X <= k) of a binomial: the p-value of "harms come with at least this rate" after k of them. */
export function binomialTail(k: number, n: number, rate: number): number {
  if (k >= n) return 1;
  const odds = Math.log(rate) - Math.log1p(-rate);
  let term = n * Math.log1p(-rate);
  let sum = Math.exp(term);
  for (let i = 1; i <= k; i++) {
    term += Math.log(n - i + 1) - Math.log(i) + odds;
    sum += Math.exp(term);
  }
  return Math.min(1, sum);
}
