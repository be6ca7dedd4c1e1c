/** The lines between the team's steps and the segments they became; a step that is left out ends in a stub. */
import { useRef } from "preact/hooks";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { bend, useConnections } from "./connections.ts";
import { hueOf } from "./hues.ts";
import { selectedStep, selection } from "./selection.ts";

const width = 88;

interface Line {
  agent: string;
  step: string;
  d: string;
  filled?: boolean;
}

export function Links({ run, chain }: { run: RunView; chain?: ChainView }) {
  const gutter = useRef<HTMLDivElement>(null);
  const chosen = selectedStep(chain);
  const draw = (element: HTMLElement) => (chain ? linesOf(chain, element) : []);
  const lines = useConnections(gutter, ".rows", draw, [run, chain, chosen, selection().segment]);
  const roles = new Map(run.agents.map((agent) => [agent.id, agent.role]));
  // The selected lines last, above all others.
  const sorted = lines.toSorted((a, b) => Number(a.step === chosen) - Number(b.step === chosen));
  return (
    <div class="gutter" ref={gutter} aria-hidden="true">
      <svg width={width}>
        <title>Which segments came from which step</title>
        {sorted.map(({ agent, step, d, filled }) => (
          <path
            class={`hue-${hueOf(roles.get(agent) ?? agent)}${step === chosen ? " selected" : ""}${filled ? " filled" : ""}`}
            d={d}
          />
        ))}
      </svg>
    </div>
  );
}

function linesOf(chain: ChainView, gutter: HTMLElement): Line[] {
  const { top } = gutter.getBoundingClientRect();
  const middles = (attribute: string) => {
    const rows = [...gutter.parentElement!.querySelectorAll(`[${attribute}]`)];
    return new Map(
      rows.map((row) => {
        const box = row.firstElementChild!.getBoundingClientRect();
        return [row.getAttribute(attribute), Number((box.top + box.height / 2 - top).toFixed(1))];
      }),
    );
  };
  const [steps, segments] = [middles("data-step"), middles("data-segment")];
  const shown = chain.segments.flatMap(({ index, from, filled }): Line[] => {
    const [left, right] = [steps.get(from?.step ?? ""), segments.get(String(index))];
    if (!from || left === undefined || right === undefined) return [];
    return [{ ...from, d: bend(0, left, width, right), filled }];
  });
  const leftOut = chain.leftOut.flatMap(({ step, agent }): Line[] => {
    const at = steps.get(step);
    return at === undefined ? [] : [{ step, agent, d: `M 0 ${at} H 12 M 12 ${at - 4} V ${at + 4}` }];
  });
  return [...shown, ...leftOut];
}
