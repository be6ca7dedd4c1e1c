/** How a filter's figure is spread, where its bound stands, and what another bound would keep or lose. */

import { count } from "../../../report/format-figures.ts";
import type { FunnelView, MeasuredStage, WhatIfView } from "../../api/funnel-view.ts";
import { place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function WhatIf({ view, stage }: { view: FunnelView; stage: string }) {
  const measured = view.measured.find((one) => one.stage === stage);
  const given = place.value.query.get("bound");
  const bound = given === null ? measured?.threshold : Number(given);
  const asked =
    measured && bound !== undefined && bound !== measured.threshold
      ? new URLSearchParams({ folder: view.folder, stage, threshold: String(bound) })
      : undefined;
  const { data, error } = useResource<WhatIfView>(asked && `whatif?${asked}`);
  if (!measured || bound === undefined) {
    return (
      <section class="panel" aria-label="What if">
        <h2>What if</h2>
        <p class="soft">
          {stage === ""
            ? "Choose a filter to see what it measured."
            : `The filter ${stage} compares nothing with a bound.`}{" "}
          These do:
        </p>
        <ul class="plain">
          {view.measured.map((one) => (
            <li>
              <button
                type="button"
                class="quiet"
                onClick={() => setQuery({ stage: one.stage, reason: undefined, bound: undefined })}
              >
                {one.stage}: {one.measure} {one.side === "least" ? "≥" : "≤"} {one.threshold}
              </button>
            </li>
          ))}
        </ul>
      </section>
    );
  }
  const whole = measured.steps.every(({ from }) => Number.isInteger(from)) && Number.isInteger(measured.threshold);
  return (
    <section class="panel" aria-label="What if">
      <h2>
        What if{" "}
        <span class="soft">
          {measured.measure}, {measured.side === "least" ? "at least" : "at most"} {measured.threshold}
        </span>
      </h2>
      <Spread measured={measured} bound={bound} />
      <label class="bound">
        another bound{" "}
        <input
          type="number"
          step={whole ? 1 : 0.01}
          value={bound}
          onInput={(event) => setQuery({ bound: event.currentTarget.value })}
        />
      </label>
      <div role="status">
        {error && <p class="error">{error}</p>}
        {data && asked && (
          <>
            <p>
              <b class="more">+{count(data.more)}</b> would pass this filter
              {data.more > 0 && `, about ${count(data.expected)} of them all the others`};{" "}
              <b class="fewer">−{count(data.fewer)}</b> kept chains would go.
            </p>
            <pre class="wrap command">
              {data.command.split(" ").flatMap((word, index) => [index === 0 ? "" : " ", <span>{word}</span>])}
            </pre>
          </>
        )}
      </div>
    </section>
  );
}

function Spread({ measured, bound }: { measured: MeasuredStage; bound: number }) {
  const { steps, threshold } = measured;
  const most = Math.max(1, ...steps.map(({ kept, dropped }) => kept + dropped));
  const [low, high] = [Math.min(steps[0]!.from, threshold, bound), Math.max(steps.at(-1)!.to, threshold, bound)];
  const x = (value: number) => ((value - low) / (high - low || 1)) * 100;
  return (
    <>
      <svg
        class="spread"
        viewBox="0 0 100 44"
        preserveAspectRatio="none"
        role="img"
        aria-label={`How ${measured.measure} is spread`}
      >
        {steps.map(({ from, to, kept, dropped }) => (
          <g>
            <title>{`${Number(from.toFixed(3))} to ${Number(to.toFixed(3))}: ${kept} passed, ${dropped} dropped`}</title>
            <rect
              class="passed"
              x={x(from)}
              width={Math.max(0.2, x(to) - x(from) - 0.3)}
              y={42 - (40 * kept) / most}
              height={(40 * kept) / most}
            />
            <rect
              class="dropped"
              x={x(from)}
              width={Math.max(0.2, x(to) - x(from) - 0.3)}
              y={42 - (40 * (kept + dropped)) / most}
              height={(40 * dropped) / most}
            />
          </g>
        ))}
        <line class="was" x1={x(threshold)} x2={x(threshold)} y1="0" y2="44" />
        {bound !== threshold && <line class="would" x1={x(bound)} x2={x(bound)} y1="0" y2="44" />}
      </svg>
      <p class="spread-range soft">
        <span>{Number(low.toFixed(3))}</span>
        <span>{measured.measure}</span>
        <span>{Number(high.toFixed(3))}</span>
      </p>
    </>
  );
}
