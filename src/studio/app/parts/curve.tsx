/** One figure over the steps of a training; a click takes the step, and all curves show it. */

interface Props {
  name: string;
  /** Step and value, in order. */
  points: readonly (readonly [step: number, value: number])[];
  /** The step that is selected. */
  chosen?: number;
  onChoose(step: number): void;
}

const width = 320;
const height = 90;

/** Beyond this many points a pixel holds several: its lowest and highest stand for them. */
const mostPoints = 2 * width;

export function Curve({ name, points, chosen, onChoose }: Props) {
  const values = points.map(([, value]) => value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const first = points[0]?.[0] ?? 0;
  const last = points.at(-1)?.[0] ?? 1;
  const x = (step: number) => (last === first ? width / 2 : ((step - first) / (last - first)) * width);
  const y = (value: number) => (high === low ? height / 2 : height - 4 - ((value - low) / (high - low)) * (height - 8));
  const shown = thinned(points);
  const at = points.find(([step]) => step === chosen) ?? points.at(-1);
  return (
    <figure class="panel curve">
      <figcaption>
        <b>{name}</b>
        <span class="soft">{at ? `${shortNumber(at[1])} at step ${at[0]}` : "no value yet"}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys h and l move the step on the whole screen */}
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: from ${shortNumber(low)} to ${shortNumber(high)} over steps ${first} to ${last}`}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const wanted = first + ((event.clientX - box.left) / box.width) * (last - first);
          onChoose(nearest(points, wanted));
        }}
      >
        {at && chosen !== undefined && <line class="cursor" x1={x(at[0])} x2={x(at[0])} y1={0} y2={height} />}
        <polyline points={shown.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
        {shown.length === 1 && <circle cx={x(shown[0]![0])} cy={y(shown[0]![1])} r="3" />}
      </svg>
      <p class="curve-range soft">
        <span>{shortNumber(low)}</span>
        <span>{shortNumber(high)}</span>
      </p>
    </figure>
  );
}

function thinned(points: Props["points"]): Props["points"] {
  if (points.length <= mostPoints) return points;
  const size = Math.ceil((2 * points.length) / mostPoints);
  const kept: (readonly [number, number])[] = [];
  for (let from = 0; from < points.length; from += size) {
    const part = points.slice(from, from + size);
    const least = part.reduce((a, b) => (b[1] < a[1] ? b : a));
    const most = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(least[0] < most[0] ? [least, most] : [most, least]));
  }
  return kept;
}

function nearest(points: Props["points"], wanted: number): number {
  return points.reduce((a, b) => (Math.abs(b[0] - wanted) < Math.abs(a[0] - wanted) ? b : a))[0];
}

function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "none";
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}
