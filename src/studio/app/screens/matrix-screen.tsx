/** Tasks down, systems across: who solved what, how sure the figures are, and whether two systems really differ. */
import { count, duration, moneySpent, percent, pValue, signed } from "../../../report/format-figures.ts";
import type { MatrixCell, MatrixRow, MatrixView } from "../../api/evaluation-readers.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { hueOfReward } from "../parts/chip.tsx";
import { Choice, QueryChoice } from "../parts/choice.tsx";
import { OneLine } from "../parts/long-text.tsx";
import { matrixColumns, matrixRows } from "../parts/matrix-rows.ts";
import { cursor } from "../parts/selection.ts";
import { useFolders } from "../parts/stage-screen.tsx";
import { Missing, Nothing, Problem } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function MatrixScreen() {
  const folders = useFolders("evaluation");
  const asked = new URLSearchParams(place.value.query.getAll("folder").map((folder) => ["folder", folder]));
  const matrix = useResource<MatrixView>(folders?.length ? `matrix?${asked}` : undefined, {
    live: ({ type }) => type === "idle",
  });
  if (folders?.length === 0) {
    return (
      <Nothing page title="No evaluation yet" command="coa eval run tasks.jsonl --system chain --model afm-lab-2m">
        plays tasks and grades the answers.
      </Nothing>
    );
  }
  if (!matrix.data) return <Missing page of={matrix} what="the evaluations" />;
  return <Matrix view={matrix.data} />;
}

const choices = [
  ["all", "all tasks"],
  ["differ", "tasks on which systems differ"],
  ["failed", "tasks that some system failed"],
] as const;

function Matrix({ view }: { view: MatrixView }) {
  const { query } = place.value;
  const only = query.get("only") ?? "all";
  const rows = matrixRows(view, query);
  const { at, move } = cursor("row", rows.length);
  const shown = matrixColumns(view, query);
  const systems = shown.map((place) => view.systems[place]!);
  const address = ({ task }: MatrixRow) => `/compare/${pathPart(task)}`;
  const compared = { folder: systems.length < view.systems.length ? systems.map(({ folder }) => folder) : undefined };
  const next = (name: string) => {
    const now = place.value.query.get(name);
    return view.systems[view.systems.findIndex(({ folder }) => folder === now) + 1]?.folder;
  };
  useKeys([
    ...stepKeys("j", "k", "task", move),
    { keys: "enter", does: "Compare the systems on the task", run: () => rows[at] && go(address(rows[at]), compared) },
    {
      keys: "f",
      does: "Only tasks on which systems differ, or all",
      run: () => setQuery({ only: only === "differ" ? undefined : "differ", row: undefined }),
    },
    ...(["right", "wrong"] as const).map((name) => ({
      keys: name[0]!,
      does: `Only tasks that the next system has ${name}`,
      run: () => setQuery({ [name]: next(name), row: undefined }),
    })),
  ]);
  const families = [...new Set(view.rows.map((row) => row.family))].filter(Boolean).sort();
  const columns = { "--cells": `minmax(260px, 2fr) repeat(${systems.length}, minmax(112px, 1fr))` };
  return (
    <article class="matrix-screen">
      <header class="run-head flex">
        <h1>
          Evaluations{" "}
          <span class="soft">
            {count(rows.length)} of {count(view.rows.length)} tasks
          </span>
        </h1>
        <QueryChoice name="only" label="Show" options={choices} />
        {(["right", "wrong"] as const).map((name) => (
          <QueryChoice
            name={name}
            label={`${name} in`}
            options={[["", "any system"], ...view.systems.map(({ folder, system }) => [folder, system] as const)]}
          />
        ))}
        {families.length > 1 && (
          <QueryChoice
            name="family"
            label="Family"
            options={[["", "all families"], ...families.map((one) => [one, one] as const)]}
          />
        )}
      </header>
      {view.problems.map((problem) => (
        <Problem title="An evaluation can't be read" detail={problem} />
      ))}
      {view.pairs.length > 0 && <Pairs view={view} shown={shown} />}
      {rows.length === 0 && <p class="state soft">No task fits the choice.</p>}
      <div class="scrolls">
        <div style={{ minWidth: `${280 + systems.length * 124}px` }}>
          <div class="matrix-head table-head cells small" style={columns}>
            <span class="soft">task</span>
            {systems.map(({ folder, system, success, tasks, played, undecided, perSuccess, scripted }, column) => (
              <div>
                <b title={folder} dir="auto">
                  {system}
                </b>
                <div class="matrix-success">{success ? percent(success.value) : "not decided"}</div>
                <div class="soft tiny">
                  {success && `${percent(success.low)} to ${percent(success.high)}; `}
                  {count(tasks)} tasks{played < tasks && `, ${count(tasks - played)} not played yet`}
                  {undecided > 0 && `, ${undecided} undecided`}
                </div>
                <div
                  class="soft tiny"
                  title="per success: everything spent, failures included, divided by the successes"
                >
                  {perSuccess
                    ? `${count(perSuccess.billedTokens)} tokens, ${moneySpent(perSuccess.costUsd)}, ${scripted ? "scripted" : duration(perSuccess.wallMs)} a success`
                    : "no success"}
                </div>
                {rows.length < view.rows.length && (
                  <div class="soft tiny">{count(meanTokens(rows, shown[column]!))} tokens a task shown here</div>
                )}
              </div>
            ))}
          </div>
          <VirtualList
            total={rows.length}
            rowHeight={34}
            active={at}
            label="Tasks"
            row={(index) => (
              <a class="matrix-row cells line" style={columns} href={href(address(rows[index]!), compared)}>
                <OneLine text={rows[index]!.question.text} length={400} />
                {shown.map((column) => (
                  <Cell cell={rows[index]!.cells[column]!} />
                ))}
              </a>
            )}
          />
        </div>
      </div>
    </article>
  );
}

function Cell({ cell }: { cell: MatrixCell | null }) {
  if (!cell) return <span class="matrix-cell soft small">not played</span>;
  const { right, samples, answer, ending, billed } = cell;
  const word = right === null ? "undecided" : right === 1 ? "✓ right" : right === 0 ? "✗ wrong" : percent(right, 0);
  return (
    <span
      class={`matrix-cell tint small hue-${hueOfReward(right)}`}
      title={`${answer || "no answer"} (${ending}, ${count(billed)} tokens)`}
    >
      {word}
      {samples > 1 && <span class="soft"> of {samples}</span>} <span class="soft tiny">{count(billed)}</span>
    </span>
  );
}

function meanTokens(rows: readonly MatrixRow[], column: number): number | undefined {
  const billed = rows.flatMap(({ cells }) => cells[column]?.billed ?? []);
  return billed.length === 0 ? undefined : billed.reduce((sum, one) => sum + one, 0) / billed.length;
}

const mostUnfolded = 4;

/** Each system against one of them on the tasks that both played. */
function Pairs({ view, shown }: { view: MatrixView; shown: readonly number[] }) {
  const asked = view.systems.findIndex(({ folder }) => folder === place.value.query.get("against"));
  const usual = shown.find((place) => view.systems[place]!.condition === undefined) ?? shown[0]!;
  const base = asked >= 0 ? asked : view.systems[usual]!.against;
  const pairs = view.pairs.filter(({ first, second }) => [first, second].every((one) => one === base || shown.includes(one))); // biome-ignore format: one line
  const rows = pairs.flatMap(({ first, second, tasks, difference: { value, low, high }, pValue: p }) => {
    if (first === base) return [{ system: second, tasks, p, value, low, high }];
    return second === base ? [{ system: first, tasks, p, value: -value, low: -high, high: -low }] : [];
  });
  const nameOf = (place: number) => <bdi>{view.systems[place]!.system}</bdi>;
  return (
    <section class="panel scrolls" aria-label="Differences">
      <details open={rows.length <= mostUnfolded}>
        <summary>Differences on the same tasks, in points</summary>
        <Choice
          label="against"
          value={view.systems[base]!.folder}
          options={view.systems.map(({ folder, system }) => [folder, system])}
          onChoose={(against) => setQuery({ against })}
        />
        <Table
          class="pairs small"
          head={["system", "tasks", "difference", "95 % interval", "p-value"]}
          rows={rows.map(({ system, tasks, value, low, high, p }) => [
            <>
              {nameOf(system)} against {nameOf(base)}
            </>,
            count(tasks),
            <b class={p < 0.05 ? (value > 0 ? "more" : "fewer") : ""}>{signed(100 * value, 1)}</b>,
            `${signed(100 * low, 1)} to ${signed(100 * high, 1)}`,
            pValue(p),
          ])}
        />
      </details>
    </section>
  );
}
