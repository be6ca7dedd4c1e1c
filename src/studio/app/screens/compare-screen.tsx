/** One task over teams, chains and models: the same move stands in one row, so that one sees where they part. */
import { count } from "../../../report/format-figures.ts";
import type { CompareView } from "../../api/compare-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Chip, RewardChip } from "../parts/chip.tsx";
import { differs, firstParting } from "../parts/compare-moves.ts";
import { hueOf } from "../parts/hues.ts";
import { LongText, OneLine } from "../parts/long-text.tsx";
import { cursor } from "../parts/selection.ts";
import { Missing, Problem } from "../parts/states.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function CompareScreen({ params }: { params: Record<string, string> }) {
  const task = params["task"] ?? "";
  const folders = place.value.query.getAll("folder");
  const asked = new URLSearchParams([["task", task], ...folders.map((folder) => ["folder", folder])]);
  const compared = useResource<CompareView>(`compare?${asked}`);
  const { data } = compared;
  const { at: chosen, move } = cursor("row", data?.rows.length);
  const at = place.value.query.has("row") || !data ? chosen : firstParting(data);
  useKeys([
    ...stepKeys("l", "h", "move", move),
    { keys: "v", does: "Review the chains of this task", run: () => go("/review", { task, only: "all" }) },
    { keys: "escape", does: "Close the move", run: () => setQuery({ row: -1 }) },
  ]);
  if (!data) return <Missing page of={compared} what="the task" />;
  const columns = { "--cells": `repeat(${data.systems.length}, minmax(240px, 1fr))` };
  const alone = (row: readonly (number | null)[]) => row.filter((at) => at !== null).length === 1;
  return (
    <article class="compare-screen">
      <header class="run-head">
        <h1 dir="auto">{data.question || data.task}</h1>
        <p class="soft">
          {data.systems.length} systems, {data.rows.length} moves; {data.rows.filter(alone).length} are made by one of
          them only
          {data.more > 0 && `; ${data.more} more runs and chains of this task are not shown`}.{" "}
          {folders.length > 0 && <a href={href(`/compare/${pathPart(task)}`)}>All systems</a>}{" "}
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
                  <RewardChip reward={reward} />
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
                  onClick={() => setQuery({ row: index === at ? -1 : index })}
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
