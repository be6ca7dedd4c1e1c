/** One figure over the steps of a training. The step under the pointer, or the one that was taken, is marked on all curves. */
import { useMemo } from "preact/hooks";
import { nearestStep, type Point, pointAt, thinned } from "./training-series.ts";

interface Props {
  name: string;
  points: readonly Point[];
  /** The step that is marked; the last one speaks where none is. */
  marked?: number;
  /** Told which step is under the pointer; undefined when it leaves. */
  onPoint(step: number | undefined): void;
  onChoose(step: number): void;
}

const width = 320;
const height = 90;

/** Beyond this many points a pixel holds several: its lowest and highest stand for them. */
const mostPoints = 2 * width;

export function Curve({ name, points, marked, onPoint, onChoose }: Props) {
  const { low, high, first, last, x, y, line } = useMemo(() => drawnCurve(points), [points]);
  const at = (marked === undefined ? undefined : pointAt(points, marked)) ?? points.at(-1);
  const stepUnder = (event: MouseEvent & { currentTarget: SVGSVGElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    return nearestStep(points, first + ((event.clientX - box.left) / box.width) * (last - first));
  };
  return (
    <figure class="panel curve">
      <figcaption class="split small">
        <b class="one-line" title={name} dir="auto">
          {name}
        </b>
        <span class="soft">{at ? `${shortNumber(at[1])} at step ${at[0]}` : "no value yet"}</span>
      </figcaption>
      <div class="curve-plot">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys h and l move the step on the whole screen */}
        <svg
          class="plot"
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${name}: from ${shortNumber(low)} to ${shortNumber(high)} over steps ${first} to ${last}`}
          onClick={(event) => onChoose(stepUnder(event))}
          onMouseMove={(event) => onPoint(stepUnder(event))}
          onMouseLeave={() => onPoint(undefined)}
        >
          {at && marked !== undefined && <line class="cursor" x1={x(at[0])} x2={x(at[0])} y1={0} y2={height} />}
          <polyline points={line} />
        </svg>
        {at && (
          <i
            class="curve-dot"
            style={{ left: `${(100 * x(at[0])) / width}%`, top: `${(100 * y(at[1])) / height}%` }}
            aria-hidden="true"
          />
        )}
        <span class="curve-high soft tiny">{shortNumber(high)}</span>
        {low !== high && <span class="soft tiny">{shortNumber(low)}</span>}
      </div>
      <p class="curve-steps split soft tiny">
        <span>step {first}</span>
        {last !== first && <span>{last}</span>}
      </p>
    </figure>
  );
}

function drawnCurve(points: readonly Point[]) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [, value] of points) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const first = points[0]?.[0] ?? 0;
  const last = points.at(-1)?.[0] ?? 1;
  const x = (step: number) => (last === first ? width / 2 : ((step - first) / (last - first)) * width);
  const y = (value: number) =>
    high === low ? height / 2 : height - 6 - ((value - low) / (high - low)) * (height - 12);
  const line = thinned(points, mostPoints)
    .map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`)
    .join(" ");
  return { low, high, first, last, x, y, line };
}

function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "none";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 0.001 || size >= 1e6) ? size.toExponential(2) : `${Number(size.toPrecision(4))}`;
  return value < 0 ? `−${text}` : text;
}
