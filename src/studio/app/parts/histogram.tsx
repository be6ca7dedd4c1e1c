/** How values are spread. */
import { count } from "../../../report/format-figures.ts";
import type { SpreadStep } from "../../api/spread.ts";

export function Histogram({ title, steps }: { title: string; steps: readonly SpreadStep[] }) {
  const most = Math.max(1, ...steps.map((step) => step.count));
  const high = steps.at(-1)!.to;
  return (
    <figure class="histogram">
      <svg class="plot" viewBox="0 0 100 44" preserveAspectRatio="none" role="img" aria-label={title}>
        {steps.map(({ from, to, count: number }) => (
          <rect
            class="hue-blue"
            x={(100 * from) / high}
            width={Math.max(0.2, (100 * (to - from)) / high - 0.3)}
            y={42 - (40 * number) / most}
            height={(40 * number) / most}
          >
            <title>{`${count(from)} to ${count(to)}: ${number}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="split soft tiny">
        <span>0</span>
        <span>{title}</span>
        <span>{count(high)}</span>
      </figcaption>
    </figure>
  );
}
