/** The lines between the team's steps and the segments they became; a step that is left out ends in a stub. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ChainView } from "../../api/chain-view.ts";
import type { RunView } from "../../api/run-view.ts";
import { hueOf } from "./hues.ts";
import { selection } from "./selection.ts";

const width = 88;

interface Line {
  key: string;
  hue: string;
  d: string;
  selected: boolean;
  filled: boolean;
}

export function Links({ run, chain }: { run?: RunView; chain?: ChainView }) {
  const gutter = useRef<HTMLDivElement>(null);
  const [lines, setLines] = useState<Line[]>([]);
  const { step, segment } = selection();
  const chosen = step ?? chain?.segments[segment ?? -1]?.from?.step;
  useLayoutEffect(() => {
    const beside = gutter.current?.parentElement;
    if (!run || !chain || !beside) return undefined;
    const draw = () => setLines(linesOf(run, chain, beside, gutter.current!, chosen));
    draw();
    const observer = new ResizeObserver(draw);
    for (const list of beside.querySelectorAll(".rows")) observer.observe(list);
    return () => observer.disconnect();
  }, [run, chain, chosen, segment]);
  return (
    <div class="gutter" ref={gutter} aria-hidden="true">
      <svg width={width}>
        <title>Which segments came from which step</title>
        {lines.map(({ key, hue, d, selected, filled }) => (
          <path key={key} class={`hue-${hue}${selected ? " selected" : ""}${filled ? " filled" : ""}`} d={d} />
        ))}
      </svg>
    </div>
  );
}

function linesOf(run: RunView, chain: ChainView, beside: Element, gutter: Element, chosen: string | undefined): Line[] {
  const top = gutter.getBoundingClientRect().top;
  const middles = (attribute: string) => {
    const found = new Map<string, number>();
    for (const row of beside.querySelectorAll(`[data-${attribute}]`)) {
      const box = row.firstElementChild!.getBoundingClientRect();
      found.set(row.getAttribute(`data-${attribute}`)!, box.top + box.height / 2 - top);
    }
    return found;
  };
  const [steps, segments] = [middles("step"), middles("segment")];
  const roles = new Map(run.agents.map((agent) => [agent.id, agent.role]));
  const lines: Line[] = [];
  for (const { index, from, filled } of chain.segments) {
    const [left, right] = [steps.get(from?.step ?? ""), segments.get(String(index))];
    if (from === undefined || left === undefined || right === undefined) continue;
    lines.push({
      key: `seg-${index}`,
      hue: hueOf(roles.get(from.agent) ?? from.agent),
      d: `M 0 ${left.toFixed(1)} C ${width / 2} ${left.toFixed(1)} ${width / 2} ${right.toFixed(1)} ${width} ${right.toFixed(1)}`,
      selected: from.step === chosen,
      filled: filled ?? false,
    });
  }
  for (const { step, agent } of chain.leftOut) {
    const at = steps.get(step);
    if (at === undefined) continue;
    const d = `M 0 ${at.toFixed(1)} H 12 M 12 ${(at - 4).toFixed(1)} V ${(at + 4).toFixed(1)}`;
    lines.push({
      key: `out-${step}`,
      hue: hueOf(roles.get(agent) ?? agent),
      d,
      selected: step === chosen,
      filled: false,
    });
  }
  // The selected lines last, above all others.
  return lines.sort((a, b) => Number(a.selected) - Number(b.selected));
}
