/** How values are spread, what passed in one colour and what was dropped in another, with marks at some values. */
import { count } from "../../../report/format-figures.ts";
import type { SpreadStep } from "../../api/spread.ts";

interface Props {
  title: string;
  steps: readonly SpreadStep[];
  /** Values that are marked, with the class of the mark. */
  marks?: Readonly<Record<string, number>>;
}

export function Histogram({ title, steps, marks = {} }: Props) {
  const most = Math.max(1, ...steps.map(({ kept, dropped }) => kept + dropped));
  const marked = Object.values(marks);
  const [low, high] = [Math.min(steps[0]!.from, ...marked), Math.max(steps.at(-1)!.to, ...marked)];
  const x = (value: number) => ((value - low) / (high - low || 1)) * 100;
  return (
    <figure class="histogram">
      <svg class="plot" viewBox="0 0 100 44" preserveAspectRatio="none" role="img" aria-label={title}>
        {steps.map(({ from, to, kept, dropped }) => (
          <g>
            <title>{`${shown(from)} to ${shown(to)}: ${kept}${dropped > 0 ? ` passed, ${dropped} dropped` : ""}`}</title>
            {[kept, kept + dropped].map((top, part) => (
              <rect
                class={part === 0 ? "hue-blue" : "hue-rose"}
                x={x(from)}
                width={Math.max(0.2, x(to) - x(from) - 0.3)}
                y={42 - (40 * top) / most}
                height={(40 * (part === 0 ? kept : dropped)) / most}
              />
            ))}
          </g>
        ))}
        {Object.entries(marks).map(([name, value]) => (
          <line class={name} x1={x(value)} x2={x(value)} y1="0" y2="44" />
        ))}
      </svg>
      <figcaption class="split soft tiny">
        <span>{shown(low)}</span>
        <span>{title}</span>
        <span>{shown(high)}</span>
      </figcaption>
    </figure>
  );
}

function shown(value: number): string {
  return value >= 1_000 ? count(Math.round(value)) : String(Number(value.toFixed(3)));
}
