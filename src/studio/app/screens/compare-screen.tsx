/** One task over teams, chains and models: the same move stands in one row, so that one sees where they part. */
import { count } from "../../../report/format-figures.ts";
import type { CompareView } from "../../api/compare-reader.ts";
import type { CutText } from "../../api/cut-text.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Chip } from "../parts/chip.tsx";
import { hueOf } from "../parts/hues.ts";
import { LongText, OneLine } from "../parts/long-text.tsx";
import { cursor } from "../parts/selection.ts";
import { Missing, Problem } from "../parts/states.tsx";
import { go, href, pathPart, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function CompareScreen({ params }: { params: Record<string, string> }) {
  const task = params["task"] ?? "";
  const compared = useResource<CompareView>(`compare?${new URLSearchParams({ task })}`);
  const { data } = compared;
  const { at, move } = cursor("row", data?.rows.length);
  useKeys([
    ...stepKeys("l", "h", "move", move),
    { keys: "v", does: "Review the chains of this task", run: () => go("/review", { task, only: "all" }) },
    { keys: "escape", does: "Close the move", run: () => setQuery({ row: undefined }) },
  ]);
  if (!data) return <Missing page of={compared} what="the task" />;
  const columns = { "--cells": `repeat(${data.systems.length}, minmax(240px, 1fr))` };
  const alone = (row: readonly (number | null)[]) => row.filter((place) => place !== null).length === 1;
  return (
    <article class="compare-screen">
      <header class="run-head">
        <h1 dir="auto">{data.question || data.task}</h1>
        <p class="soft">
          {data.systems.length} systems, {data.rows.length} moves; {data.rows.filter(alone).length} are made by one of
          them only
          {data.more > 0 && `; ${data.more} more runs and chains of this task are not shown`}.{" "}
          <a href={href("/review", { task, only: "all" })}>Keep or drop its chains</a>
        </p>
        {data.gold.length > 0 && (
          <p class="answer">
            <span class="soft">right answer</span> <strong dir="auto">{data.gold.join(" or ")}</strong>
          </p>
        )}
      </header>
      {data.problems.map((problem) => (
        <Problem title="Not all of it can be shown" detail={problem} />
      ))}
      <div class="scrolls">
        <div style={{ minWidth: `${data.systems.length * 252 + 8}px` }}>
          <div class="compare-head table-head cells small" style={columns}>
            {data.systems.map(({ kind, key, title, answer, reward, ending, billed, file }) => (
              <section>
                <h2 title={file}>
                  <a href={href(`/${kind}s/${pathPart(key)}`, { in: file })} dir="auto">
                    {title}
                  </a>
                </h2>
                <p class="one-line soft from-end" title={file}>
                  <bdi>{file}</bdi>
                </p>
                <p class="one-line" dir="auto">
                  {answer || "no answer"}
                </p>
                <div class="chips">
                  {reward !== null && (
                    <Chip
                      text={reward >= 1 ? "✓ right" : reward <= 0 ? "✗ wrong" : `reward ${reward}`}
                      hue={reward >= 1 ? "green" : reward <= 0 ? "rose" : "amber"}
                    />
                  )}
                  <Chip text={ending} />
                  <Chip text={`${count(billed)} tokens`} />
                </div>
              </section>
            ))}
          </div>
          <ol class="compare-rows plain">
            {data.rows.map((row, index) => (
              <li class={`${index === at ? "open " : ""}${differs(data, row) ? "differs" : ""}`}>
                <button
                  type="button"
                  class="cells bare"
                  style={columns}
                  aria-expanded={index === at}
                  onClick={() => setQuery({ row: index === at ? undefined : index })}
                >
                  {row.map((where, column) => {
                    const found = where === null ? undefined : data.systems[column]!.moves[where];
                    if (!found) return <span class="absent" />;
                    return (
                      <span class={`move one-line hue-${hueOf(found.name)}`}>
                        <b dir="auto">{found.name}</b> <OneLine text={found.text.text || "(empty)"} />
                      </span>
                    );
                  })}
                </button>
                {index === at && (
                  <div class="compare-detail cells" style={columns}>
                    {row.map((where, column) => (
                      <div>{where !== null && <LongText value={data.systems[column]!.moves[where]!.text} />}</div>
                    ))}
                  </div>
                )}
              </li>
            ))}
          </ol>
        </div>
      </div>
    </article>
  );
}

/** The same move with other words; another layout of the same words is no difference. */
function differs({ systems }: CompareView, row: readonly (number | null)[]): boolean {
  const texts = row.flatMap((place, column) => (place === null ? [] : [wordsOf(systems[column]!.moves[place]!.text)]));
  return new Set(texts).size > 1;
}

function wordsOf({ text, length }: CutText): string {
  return `${text.replace(/\s+/g, " ").trim()}${length > text.length ? ` ${length}` : ""}`;
}
