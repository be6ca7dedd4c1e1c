/** How a filter's figure is spread, where its bound stands, and what another bound would keep or lose. */
import { count } from "../../../report/format-figures.ts";
import type { FunnelView } from "../../api/funnel-readers.ts";
import type { WhatIfView } from "../../api/what-if.ts";
import { place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";
import { Histogram } from "./histogram.tsx";

export function WhatIf({ view, stage }: { view: FunnelView; stage: string }) {
  // Where no filter is chosen, the first that compares something shows what can be asked.
  const measured = stage === "" ? view.measured[0] : view.measured.find((one) => one.stage === stage);
  const threshold = measured?.threshold ?? 0;
  const given = place.value.query.get("bound");
  const bound = given === null ? threshold : Number(given);
  const asked = new URLSearchParams({ folder: view.folder, stage: measured?.stage ?? "", threshold: String(bound) });
  const changed = measured && bound !== threshold;
  const { data, error } = useResource<WhatIfView>(changed ? `whatif?${asked}` : undefined);
  const names = view.measured.map((one) => one.stage).join(", ");
  if (!measured) {
    return (
      <section class="panel" aria-label="What if">
        <h2>What if</h2>
        <p class="soft">
          {stage === "" ? "No filter compared anything" : `The filter ${stage} compares nothing`} with a bound.{" "}
          {names.length > 0 && `These do: ${names}.`}
        </p>
      </section>
    );
  }
  const { measure, side, steps } = measured;
  const whole = steps.every(({ from }) => Number.isInteger(from)) && Number.isInteger(threshold);
  return (
    <section class="panel" aria-label="What if">
      <h2>
        What if{" "}
        <span class="soft">
          {measured.stage}: {measure}, {side === "least" ? "at least" : "at most"} {threshold}
        </span>
      </h2>
      <Histogram title={measure} steps={steps} marks={{ was: threshold, ...(changed && { would: bound }) }} />
      <label>
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
        {data && changed && (
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
