/** Tasks down, systems across: who solved what, how sure the figures are, and whether two systems really differ. */
import { count, percent, pValue, signed } from "../../../report/format-figures.ts";
import type { MatrixCell, MatrixRow, MatrixView } from "../../api/evaluation-readers.ts";
import { useKeys } from "../keys.ts";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function MatrixScreen() {
  const folders = useResource<string[]>("evaluations", (event) => event.type === "idle");
  const { query } = place.value;
  const asked = query.getAll("folder").map((folder) => `folder=${pathPart(folder)}`);
  const { data, error } = useResource<MatrixView>(
    folders.data?.length ? `matrix?${asked.join("&")}` : undefined,
    (event) => event.type === "idle",
  );
  if (folders.data?.length === 0) {
    return (
      <Nothing page title="No evaluation yet">
        <p>
          <code>coa eval run tasks.jsonl --system chain --model afm-lab-2m</code> plays tasks and grades the answers.
        </p>
      </Nothing>
    );
  }
  if (error && !data) return <Problem page title="The evaluations can't be shown" detail={error} />;
  if (!data) return <Loading what="the evaluations" />;
  return <Matrix view={data} />;
}

function Matrix({ view }: { view: MatrixView }) {
  const { query } = place.value;
  const only = query.get("only") ?? "all";
  const family = query.get("family") ?? "";
  const rows = view.rows.filter(
    (row) =>
      (family === "" || row.family === family) &&
      (only === "all" || (only === "differ" ? row.differs : row.cells.some((cell) => cell?.right === 0))),
  );
  const at = Number(query.get("row") ?? -1);
  const move = (by: number) => setQuery({ row: Math.max(0, Math.min(rows.length - 1, at + by)) });
  const open = (row: MatrixRow | undefined) => row && go(`/compare/${pathPart(row.task)}`);
  useKeys(
    [
      { keys: "j", does: "Next task", run: () => move(1) },
      { keys: "k", does: "Previous task", run: () => move(-1) },
      { keys: "enter", does: "Compare the systems on the task", run: () => open(rows[at]) },
      {
        keys: "f",
        does: "Only tasks on which systems differ, or all",
        run: () => setQuery({ only: only === "differ" ? undefined : "differ", row: undefined }),
      },
    ],
    [view, rows.length, at, only],
  );
  const families = [...new Set(view.rows.map((row) => row.family))].filter(Boolean).sort();
  const columns = { gridTemplateColumns: `minmax(260px, 2fr) repeat(${view.systems.length}, minmax(112px, 1fr))` };
  const leastWidth = `${280 + view.systems.length * 124}px`;
  return (
    <article class="matrix-screen">
      <header class="run-head">
        <h1>
          Evaluations{" "}
          <span class="soft">
            {count(rows.length)} of {count(view.rows.length)} tasks
          </span>
        </h1>
        <label class="matrix-choice">
          Show{" "}
          <select value={only} onChange={(event) => setQuery({ only: event.currentTarget.value, row: undefined })}>
            <option value="all">all tasks</option>
            <option value="differ">tasks on which systems differ</option>
            <option value="failed">tasks that some system failed</option>
          </select>
        </label>
        {families.length > 1 && (
          <label class="matrix-choice">
            Family{" "}
            <select
              value={family}
              onChange={(event) => setQuery({ family: event.currentTarget.value, row: undefined })}
            >
              <option value="">all families</option>
              {families.map((one) => (
                <option value={one}>{one}</option>
              ))}
            </select>
          </label>
        )}
      </header>
      {view.problems.map((problem) => (
        <Problem title="An evaluation can't be read" detail={problem} />
      ))}
      {view.pairs.length > 0 && <Pairs view={view} />}
      {rows.length === 0 && <p class="state soft">No task fits the choice.</p>}
      <div class="matrix-scroll">
        <div style={{ minWidth: leastWidth }}>
          <div class="matrix-head" style={columns}>
            <span class="soft">task</span>
            {view.systems.map(({ folder, system, success, tasks, played, undecided }) => (
              <span>
                <b title={folder}>
                  <bdi>{system}</bdi>
                </b>
                <span class="matrix-success">{success ? percent(success.value) : "not decided"}</span>
                <span class="soft">
                  {success && `${percent(success.low)} to ${percent(success.high)}; `}
                  {count(tasks)} tasks{played < tasks && `, ${count(tasks - played)} not played yet`}
                  {undecided > 0 && `, ${undecided} undecided`}
                </span>
              </span>
            ))}
          </div>
          <VirtualList
            total={rows.length}
            rowHeight={34}
            active={at}
            label="Tasks"
            row={(index) => {
              const row = rows[index]!;
              return (
                <a class="matrix-row" style={columns} href={href(`/compare/${pathPart(row.task)}`)}>
                  <span class="one-line" dir="auto">
                    <bdi>{row.question.text}</bdi>
                  </span>
                  {row.cells.map((cell) => (
                    <Cell cell={cell} />
                  ))}
                </a>
              );
            }}
          />
        </div>
      </div>
    </article>
  );
}

function Cell({ cell }: { cell: MatrixCell | null }) {
  if (!cell) return <span class="matrix-cell absent">not played</span>;
  const { right, samples, answer } = cell;
  const word = right === null ? "undecided" : right === 1 ? "right" : right === 0 ? "wrong" : percent(right, 0);
  const kind = right === null ? "undecided" : right === 1 ? "right" : right === 0 ? "wrong" : "partly";
  return (
    <span
      class={`matrix-cell ${kind}`}
      title={`${answer || "no answer"} (${cell.ending}, ${count(cell.billed)} tokens)`}
    >
      <span aria-hidden="true">{kind === "right" ? "✓ " : kind === "wrong" ? "✗ " : ""}</span>
      {word}
      {samples > 1 && <span class="soft"> of {samples}</span>}
    </span>
  );
}

/** Each system against one of them on the tasks that both played. */
function Pairs({ view }: { view: MatrixView }) {
  const asked = view.systems.findIndex(({ folder }) => folder === place.value.query.get("against"));
  const base = Math.max(0, asked);
  const rows = view.pairs.flatMap(({ first, second, tasks, difference, pValue: p }) => {
    if (first !== base && second !== base) return [];
    const { value, low, high } = difference;
    return first === base
      ? [{ system: second, tasks, p, value, low, high }]
      : [{ system: first, tasks, p, value: -value, low: -high, high: -low }];
  });
  return (
    <section class="panel pairs-panel" aria-label="Differences">
      <label>
        Differences on the same tasks, in points, against{" "}
        <select
          value={view.systems[base]!.folder}
          onChange={(event) => setQuery({ against: event.currentTarget.value })}
        >
          {view.systems.map(({ folder, system }) => (
            <option value={folder}>{system}</option>
          ))}
        </select>
      </label>
      <table class="pairs">
        <thead>
          <tr>
            <th scope="col">system</th>
            <th scope="col">tasks</th>
            <th scope="col">difference</th>
            <th scope="col">95 % interval</th>
            <th scope="col">p-value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ system, tasks, value, low, high, p }) => (
            <tr>
              <th scope="row">
                <bdi>{view.systems[system]!.system}</bdi> against <bdi>{view.systems[base]!.system}</bdi>
              </th>
              <td>{count(tasks)}</td>
              <td class={p < 0.05 ? (value > 0 ? "more" : "fewer") : ""}>
                <b>{signed(100 * value, 1)}</b>
              </td>
              <td>
                {signed(100 * low, 1)} to {signed(100 * high, 1)}
              </td>
              <td>{pValue(p)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
