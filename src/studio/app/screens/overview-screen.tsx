/** What was opened: how runs became chains, data, models and measurements; what runs now; and every file. */

import { useRef } from "preact/hooks";
import { count, percent } from "../../../report/format-figures.ts";
import type { ResultView } from "../../api/evaluation-readers.ts";
import type { LineageNode, LineageView, OverviewView } from "../../api/overview-reader.ts";
import { Chip, StateChip } from "../parts/chip.tsx";
import { bend, useConnections } from "../parts/connections.ts";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { href } from "../router.ts";
import { useResource } from "../server.ts";

export function OverviewScreen(_: { params: Record<string, string> }) {
  const overview = useResource<OverviewView>("overview", {
    live: (event) => event.type !== "progress",
    polls: ({ lineage }) => lineage.nodes.some(({ state }) => state === "running"),
  });
  const { data } = overview;
  if (!data) return <Missing page of={overview} what="the overview" />;
  const { run = 0, chain = 0, example = 0 } = data.counts;
  return (
    <article class="overview">
      <header class="run-head">
        <h1>
          {count(run)} runs, {count(chain)} chains{example > 0 && `, ${count(example)} examples`}
        </h1>
        <p class="place soft tiny">{data.root}</p>
      </header>
      <Result />
      {data.lineage.nodes.length === 0 ? (
        <Nothing title="Nothing was made here yet" command="coa quickstart --fast">
          goes the whole way in a few minutes; <code>coa record import</code> reads traces of other systems.
        </Nothing>
      ) : (
        <LineagePicture view={data.lineage} />
      )}
      {data.problems.map(({ path, problem }) => (
        <Problem title={`${path} can't be read`} detail={problem} />
      ))}
      <Files files={data.files} />
    </article>
  );
}

/** What was found, in one sentence; the intervals behind it are one click away. */
function Result() {
  const { data } = useResource<ResultView>("result", { live: ({ type }) => type === "idle" });
  if (!data?.sentence) return null;
  return (
    <section class="panel result" aria-label="Result">
      <p>{data.sentence}</p>
      <details class="small">
        <summary class="soft">Intervals</summary>
        <ul class="plain">
          {data.intervals?.map((line) => (
            <li>{line}</li>
          ))}
        </ul>
        <a href={href("/evaluations")}>Every task</a>
      </details>
    </section>
  );
}

function Files({ files }: Pick<OverviewView, "files">) {
  return (
    <details class="files scrolls">
      <summary class="soft">
        {files.length} files{files.some(({ bad }) => bad > 0) && ", some with lines that can't be read"}
      </summary>
      <Table
        class="small"
        head={["file", "holds", "lines", "size", "what is not loaded"]}
        rows={files.map(({ path, kind, lines, size, indexed, bad, problem }) => [
          <bdi>{path}</bdi>,
          <Chip text={kind} />,
          count(lines),
          `${count(size)}B`,
          <>
            {indexed < size && `${count(size - indexed)}B are not read yet`}
            {bad > 0 && (
              <span class="error">
                {bad} bad lines; {problem}
              </span>
            )}
          </>,
        ])}
      />
    </details>
  );
}

const columns: [column: LineageNode["column"], title: string, hue: string][] = [
  ["runs", "recorded", "violet"],
  ["distillation", "distilled", "rose"],
  ["dataset", "datasets", "amber"],
  ["training", "trained", "teal"],
  ["evaluation", "measured", "green"],
];
const mostShown = 12;

/** The way from runs to measurements as columns of cards, joined where one was made from the other. */
function LineagePicture({ view }: { view: LineageView }) {
  const root = useRef<HTMLDivElement>(null);
  const lines = useConnections(root, ".lineage", (element) => linesOf(element, view), [view]);
  const used = columns.filter(([column]) => view.nodes.some((node) => node.column === column));
  return (
    <div class="lineage" ref={root} style={{ "--columns": used.length }}>
      <svg aria-hidden="true">
        {lines.map((d) => (
          <path d={d} />
        ))}
      </svg>
      {used.map(([column, title, hue]) => {
        const nodes = view.nodes.filter((node) => node.column === column);
        return (
          <section class={`lineage-column ${column} hue-${hue}`} aria-label={title}>
            <h2 class="soft small">{title}</h2>
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
    <a
      class={`card panel line small ${node.state === "failed" ? "failed hue-rose" : ""}`}
      href={href(node.href)}
      data-node={node.id}
    >
      <b dir="auto">{name}</b>
      <span class="soft tiny">
        <bdi>
          {[folder, node.kind === node.column || node.kind === name ? "" : node.kind].filter(Boolean).join(", ")}
        </bdi>
      </span>
      <span class="flex">
        {node.figures.map(([name, value]) => (
          <span>
            <span class="soft">{name}</span> <b>{figureText(name, value)}</b>
          </span>
        ))}
      </span>
      {node.state && node.state !== "done" && (
        <span>
          <StateChip state={node.state} /> {node.done}
          {node.total === undefined ? "" : ` of ${node.total}`} done
          {node.state === "running" && <progress max={node.total} value={node.total && node.done} aria-label="Done" />}
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
  const cards = [...root.querySelectorAll<HTMLElement>("[data-node]")];
  const boxes = new Map(cards.map((card) => [card.dataset["node"], card.getBoundingClientRect()]));
  const middle = ({ top, height }: DOMRect) => top + height / 2 - origin.top;
  return edges.flatMap(({ from, to }) => {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    return a && b ? [bend(a.right - origin.left, middle(a), b.left - origin.left, middle(b))] : [];
  });
}
