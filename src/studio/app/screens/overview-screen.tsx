/** What was opened: how runs became chains, data, models and measurements; what runs now; and every file. */
import { count } from "../../../report/format-figures.ts";
import type { ResultView } from "../../api/evaluation-readers.ts";
import type { OverviewView } from "../../api/overview-reader.ts";
import { Chip } from "../parts/chip.tsx";
import { LineagePicture } from "../parts/lineage-picture.tsx";
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
