/** The way from runs to measurements as columns of cards, joined where one was made from the other. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, percent } from "../../../report/format-figures.ts";
import type { LineageNode, LineageView } from "../../api/lineage.ts";
import { href, isRoute } from "../router.ts";
import { StateChip } from "./chip.tsx";

const columns: [LineageNode["column"], string][] = [
  ["runs", "recorded"],
  ["distillation", "distilled"],
  ["dataset", "datasets"],
  ["training", "trained"],
  ["evaluation", "measured"],
];
const mostShown = 12;

export function LineagePicture({ view }: { view: LineageView }) {
  const root = useRef<HTMLDivElement>(null);
  const [lines, setLines] = useState<string[]>([]);
  useLayoutEffect(() => {
    const draw = () => setLines(linesOf(root.current!, view));
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(root.current!);
    return () => observer.disconnect();
  }, [view]);
  const used = columns.filter(([column]) => view.nodes.some((node) => node.column === column));
  return (
    <div class="lineage" ref={root} style={{ "--columns": used.length }}>
      <svg aria-hidden="true">
        {lines.map((d) => (
          <path d={d} />
        ))}
      </svg>
      {used.map(([column, title]) => {
        const nodes = view.nodes.filter((node) => node.column === column);
        return (
          <section class={`lineage-column ${column}`} aria-label={title}>
            <h2>{title}</h2>
            {nodes.slice(0, mostShown).map((node) => (
              <Card node={node} />
            ))}
            {nodes.length > mostShown && <p class="soft">and {nodes.length - mostShown} more</p>}
          </section>
        );
      })}
    </div>
  );
}

function Card({ node }: { node: LineageNode }) {
  const parts = node.title.split("/");
  // A folder that only says that it is a run is known by what it stands in.
  const name = parts.length > 1 && parts.at(-1) === "run" ? parts.splice(-2).join("/") : parts.pop()!;
  const folder = parts.join("/");
  return (
    <a class={`card ${node.state ?? ""}`} href={isRoute(node.href) ? href(node.href) : undefined} data-node={node.id}>
      <b>
        <bdi>{name}</bdi>
      </b>
      <span class="soft">
        <bdi>
          {[folder, node.kind === node.column || node.kind === name ? "" : node.kind].filter(Boolean).join(", ")}
        </bdi>
      </span>
      <span class="card-figures">
        {node.figures.map(([name, value]) => (
          <span>
            <i>{name}</i> {figureText(name, value)}
          </span>
        ))}
      </span>
      {node.state && node.state !== "done" && (
        <span>
          <StateChip state={node.state} /> {node.done}
          {node.total === undefined ? "" : ` of ${node.total}`} done
          {node.state === "stopped" && node.updatedAt && (
            <time class="soft" dateTime={node.updatedAt}>
              , last written {new Date(node.updatedAt).toLocaleString()}
            </time>
          )}
        </span>
      )}
      {node.problem && <span class="error">{node.problem}</span>}
    </a>
  );
}

/** A figure of a stage: shares as percent, as everywhere else. */
function figureText(name: string, value: number | string): string {
  if (typeof value === "string") return value;
  if (name === "success" || name === "right") return percent(value, 1);
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)));
}

function linesOf(root: HTMLElement, { edges }: LineageView): string[] {
  const origin = root.getBoundingClientRect();
  const boxes = new Map(
    [...root.querySelectorAll<HTMLElement>("[data-node]")].map((card) => [
      card.dataset["node"],
      card.getBoundingClientRect(),
    ]),
  );
  return edges.flatMap(({ from, to }) => {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (!a || !b) return [];
    const [x1, y1, x2, y2] = [
      a.right - origin.left,
      a.top + a.height / 2 - origin.top,
      b.left - origin.left,
      b.top + b.height / 2 - origin.top,
    ];
    const bend = Math.max(20, (x2 - x1) / 2);
    return [`M ${x1} ${y1} C ${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`];
  });
}
