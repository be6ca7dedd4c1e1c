/** A dataset: lengths, how much is learned, duplicates, what was left out, and every example. */

import { count, percent } from "../../../report/format-figures.ts";
import type { DatasetView, Step } from "../../api/dataset-readers.ts";
import { useKeys } from "../keys.ts";
import { Chip } from "../parts/chip.tsx";
import { useItemPages } from "../parts/item-pages.ts";
import { Loading, Nothing, Problem } from "../parts/states.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { go, href, pathPart, place, setQuery } from "../router.ts";
import { useResource } from "../server.ts";

export function DatasetScreen({ params }: { params: Record<string, string> }) {
  const folders = useResource<string[]>("datasets", (event) => event.type === "idle");
  const folder = params["folder"] ?? folders.data?.[0];
  const { data, error } = useResource<DatasetView>(
    folder === undefined ? undefined : `dataset?${new URLSearchParams({ folder })}`,
  );
  if (folders.data?.length === 0) {
    return (
      <Nothing page title="No dataset yet">
        <p>
          <code>coa dataset build chains.jsonl --out .coa/datasets/mine</code> turns chains into token ids with a loss
          mask.
        </p>
      </Nothing>
    );
  }
  if (error && !data) return <Problem page title="The dataset can't be shown" detail={error} />;
  if (!data) return <Loading what="the dataset" />;
  const facts: [string, string][] = [
    [count(data.examples), "examples"],
    [count(data.tasks), "tasks"],
    [count(data.tokens), "tokens"],
    [percent(data.learned / Math.max(1, data.tokens), 0), "learned"],
    [count(data.longest), "longest"],
    [count(data.duplicates), "duplicates"],
  ];
  return (
    <article class="dataset-screen">
      <header class="run-head">
        <h1>Dataset {data.folder}</h1>
        {(folders.data?.length ?? 0) > 1 && (
          <select
            aria-label="Dataset"
            value={folder}
            onChange={(event) => go(`/datasets/${pathPart(event.currentTarget.value)}`)}
          >
            {folders.data!.map((one) => (
              <option value={one}>{one}</option>
            ))}
          </select>
        )}
        <dl class="facts">
          {facts.map(([value, name]) => (
            <div>
              <dd>{value}</dd>
              <dt>{name}</dt>
            </div>
          ))}
        </dl>
        <div class="chips">
          {Object.entries(data.manifest?.profiles ?? {}).map(([name, number]) => (
            <Chip text={`profile ${name}: ${number}`} />
          ))}
          {Object.entries(data.manifest?.dropped ?? {}).map(([reason, number]) => (
            <Chip text={`${number} left out: ${reason}`} hue="rose" />
          ))}
          {data.manifest && data.manifest.cut > 0 && <Chip text={`${data.manifest.cut} cut`} hue="amber" />}
        </div>
      </header>
      <div class="histograms">
        <Histogram title="tokens of an example" steps={data.lengths} />
        <Histogram title="share that is learned, in percent" steps={data.shares} />
      </div>
      <Examples file={data.file} />
    </article>
  );
}

function Histogram({ title, steps }: { title: string; steps: readonly Step[] }) {
  const most = Math.max(1, ...steps.map((step) => step.count));
  return (
    <figure class="panel histogram">
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={title}>
        {steps.map(({ from, to, count: number }, index) => (
          <rect x={index * 5 + 0.3} width={4.4} y={40 - (39 * number) / most} height={(39 * number) / most}>
            <title>{`${Math.round(from)} to ${Math.round(to)}: ${number}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption>
        <span>{count(Math.round(steps[0]!.from))}</span>
        <b>{title}</b>
        <span>{count(Math.round(steps.at(-1)!.to))}</span>
      </figcaption>
    </figure>
  );
}

function Examples({ file }: { file: string }) {
  const pages = useItemPages(new URLSearchParams({ kind: "example", file }).toString());
  const row = Number(place.value.query.get("row") ?? -1);
  const move = (by: number) => pages.total && setQuery({ row: Math.max(0, Math.min(pages.total - 1, row + by)) });
  const address = (key: string) => `/chains/${pathPart(key)}/tokens`;
  useKeys(
    [
      { keys: "j", does: "Next example", run: () => move(1) },
      { keys: "k", does: "Previous example", run: () => move(-1) },
      {
        keys: "enter",
        does: "Tokens of the example",
        run() {
          const item = pages.row(row);
          if (item) go(address(item.key));
        },
      },
    ],
    [pages.total, row],
  );
  if (pages.error) return <Problem title="The examples can't be shown" detail={pages.error} />;
  if (pages.total === undefined) return <Loading what="the examples" />;
  return (
    <VirtualList
      total={pages.total}
      rowHeight={38}
      active={row}
      label="Examples"
      onRange={pages.want}
      row={(index) => {
        const item = pages.row(index);
        if (!item) return <span class="row-waits" />;
        const share = item.toolCalls / Math.max(1, item.moves);
        return (
          <a class="example" href={href(address(item.key))}>
            <bdi class="one-line">{item.key}</bdi>
            <span class="soft one-line">{item.taskId}</span>
            <span class="mask-bar" role="img" aria-label={`${percent(share, 0)} learned`}>
              <i style={{ width: `${share * 100}%` }} />
            </span>
            <span class="item-figure">{percent(share, 0)}</span>
            <span class="item-figure">{count(item.moves)}</span>
          </a>
        );
      }}
    />
  );
}
