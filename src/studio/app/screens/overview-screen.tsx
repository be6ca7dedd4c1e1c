/** What was opened: how runs became chains, data, models and measurements; what runs now; and every file. */

import { useState } from "preact/hooks";
import { count } from "../../../report/format-figures.ts";
import type { LineageNode } from "../../api/lineage.ts";
import type { OverviewView } from "../../api/overview-reader.ts";
import { Chip, StateChip } from "../parts/chip.tsx";
import { LineagePicture } from "../parts/lineage-picture.tsx";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { href, isRoute } from "../router.ts";
import { useLooks, useResource } from "../server.ts";

export function OverviewScreen(_: { params: Record<string, string> }) {
  const [looks, setLooks] = useState(0);
  const { data, error } = useResource<OverviewView>("overview", (event) => event.type !== "progress", looks);
  const isRunning = data?.lineage.nodes.some(({ state }) => state === "running") ?? false;
  useLooks(isRunning, setLooks);
  if (error && !data) return <Problem page title="The overview can't be shown" detail={error} />;
  if (!data) return <Loading what="the overview" />;
  const running = data.lineage.nodes.filter(({ state }) => state === "running");
  return (
    <article class="overview">
      <header class="run-head">
        <h1>
          {count(data.counts["run"] ?? 0)} runs, {count(data.counts["chain"] ?? 0)} chains
          {data.counts["example"] ? `, ${count(data.counts["example"])} examples` : ""}
        </h1>
        <p class="place soft">{data.root}</p>
      </header>
      {running.map((node) => (
        <Running node={node} />
      ))}
      {data.lineage.nodes.length === 0 ? (
        <Nothing title="Nothing was made here yet">
          <p>
            <code>coa quickstart --fast</code> goes the whole way in a few minutes; <code>coa record import</code> reads
            traces of other systems.
          </p>
        </Nothing>
      ) : (
        <LineagePicture view={data.lineage} />
      )}
      {data.problems.map(({ path, problem }) => (
        <Problem title={`${path} can't be read`} detail={problem} />
      ))}
      <Files view={data} />
    </article>
  );
}

function Running({ node }: { node: LineageNode }) {
  return (
    <section class="running-now" aria-label="Running now">
      <StateChip state="running" />
      <a href={isRoute(node.href) ? href(node.href) : undefined}>
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

function Files({ view }: { view: OverviewView }) {
  return (
    <details class="files">
      <summary>
        {view.files.length} files{view.files.some(({ bad }) => bad > 0) && ", some with lines that can't be read"}
      </summary>
      <table>
        <thead>
          <tr>
            <th>file</th>
            <th>holds</th>
            <th>lines</th>
            <th>size</th>
            <th>what is not loaded</th>
          </tr>
        </thead>
        <tbody>
          {view.files.map((file) => (
            <tr>
              <td>
                <bdi>{file.path}</bdi>
              </td>
              <td>
                <Chip text={file.kind} />
              </td>
              <td>{count(file.lines)}</td>
              <td>{count(file.size)}B</td>
              <td>
                {file.indexed < file.size && `${count(file.size - file.indexed)}B are not read yet`}
                {file.bad > 0 && (
                  <span class="error">
                    {file.bad} bad lines; {file.problem}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
