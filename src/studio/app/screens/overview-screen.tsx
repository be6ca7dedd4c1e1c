/** What was opened: how runs became chains, data, models and measurements; what runs now; and every file. */

import { count } from "../../../report/format-figures.ts";
import type { LineageNode } from "../../api/lineage.ts";
import type { OverviewView } from "../../api/overview-reader.ts";
import { Chip, StateChip } from "../parts/chip.tsx";
import { LineagePicture } from "../parts/lineage-picture.tsx";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { href } from "../router.ts";
import { useResource } from "../server.ts";

const runningIn = ({ lineage }: OverviewView) => lineage.nodes.filter(({ state }) => state === "running");

export function OverviewScreen(_: { params: Record<string, string> }) {
  const overview = useResource<OverviewView>("overview", {
    live: (event) => event.type !== "progress",
    polls: (view) => runningIn(view).length > 0,
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
        <p class="place soft">{data.root}</p>
      </header>
      {runningIn(data).map((node) => (
        <Running node={node} />
      ))}
      {data.lineage.nodes.length === 0 ? (
        <Nothing title="Nothing was made here yet">
          <code>coa quickstart --fast</code> goes the whole way in a few minutes; <code>coa record import</code> reads
          traces of other systems.
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

function Running({ node }: { node: LineageNode }) {
  return (
    <section class="running-now panel flex" aria-label="Running now">
      <StateChip state="running" />
      <a href={href(node.href)}>
        {node.kind} {node.title}
      </a>
      <progress max={node.total ?? 1} value={node.total === undefined ? undefined : node.done} aria-label="Done" />
      <span class="soft">
        {node.done} {node.total === undefined ? "" : `of ${node.total}`}
      </span>
      {node.figures.map(([name, value]) => (
        <span>
          {name} <b>{typeof value === "number" ? Number(value.toPrecision(4)) : value}</b>
        </span>
      ))}
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
