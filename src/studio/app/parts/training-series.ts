/** The figures of a training as series over its steps. */

/** A line of the file of figures. */
export type Metrics = Record<string, unknown> & { step: number };

export type Point = readonly [step: number, value: number];

type Series = [name: string, points: Point[]];

/** Figures that people look at first, in this order; the others follow as the run wrote them. */
const foremost = ["meanReward", "success", "loss", "heldOutLoss"];

/** Every figure that is a number as a series of its own: those that change, and those that are the same in every step. */
export function seriesOf(lines: readonly Metrics[]): { moving: Series[]; still: Series[] } {
  const series = new Map<string, Point[]>();
  for (const line of lines) {
    for (const [name, value] of Object.entries(line)) {
      if (name === "step" || typeof value !== "number") continue;
      const points = series.get(name);
      if (points) points.push([line.step, value]);
      else series.set(name, [[line.step, value]]);
    }
  }
  const rank = (name: string) => (foremost.includes(name) ? foremost.indexOf(name) : foremost.length);
  const sorted = [...series].sort(([a], [b]) => rank(a) - rank(b));
  const moves = ([, points]: Series) => points.length === 1 || points.some(([, value]) => value !== points[0]![1]);
  return { moving: sorted.filter(moves), still: sorted.filter((one) => !moves(one)) };
}

/** The first place whose step is not before the wanted one. */
function placeOf(points: readonly Point[], wanted: number): number {
  let [from, to] = [0, points.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (points[middle]![0] < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The point of a step; of a step without one, the last before it. */
export function pointAt(points: readonly Point[], step: number): Point | undefined {
  const place = placeOf(points, step);
  return points[place]?.[0] === step ? points[place] : points[place - 1];
}

export function nearestStep(points: readonly Point[], wanted: number): number {
  const place = placeOf(points, wanted);
  const [before, after] = [points[place - 1] ?? points[0]!, points[place] ?? points.at(-1)!];
  return wanted - before[0] < after[0] - wanted ? before[0] : after[0];
}

/** At most so many points: of several that share a place the lowest and the highest stand for them. */
export function thinned(points: readonly Point[], most: number): readonly Point[] {
  if (points.length <= most) return points;
  const size = Math.ceil((2 * points.length) / most);
  const kept: Point[] = [];
  for (let from = 0; from < points.length; from += size) {
    const part = points.slice(from, from + size);
    const least = part.reduce((a, b) => (b[1] < a[1] ? b : a));
    const highest = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(least[0] < highest[0] ? [least, highest] : [highest, least]));
  }
  return kept;
}
