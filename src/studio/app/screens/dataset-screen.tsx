/** A dataset: how much is learned, duplicates, what was left out, and every example. */
import { count, percent } from "../../../report/format-figures.ts";
import type { DatasetView } from "../../api/dataset-reader.ts";
import { stepKeys, useKeys } from "../keys.ts";
import { Chip } from "../parts/chip.tsx";
import { FolderChoice } from "../parts/choice.tsx";
import { useItemPages } from "../parts/item-pages.ts";
import { Facts } from "../parts/run-figures.tsx";
import { cursor } from "../parts/selection.ts";
import { StageScreen } from "../parts/stage-screen.tsx";
import { ItemList } from "../parts/virtual-list.tsx";
import { go, href, pathPart } from "../router.ts";

export function DatasetScreen({ params }: { params: Record<string, string> }) {
  return (
    <StageScreen<DatasetView>
      kind="examples"
      reader="dataset"
      named={params["folder"]}
      what="dataset"
      command="coa dataset build chains.jsonl --out .coa/datasets/mine"
      does="turns chains into token ids with a loss mask."
    >
      {(view, folders) => <Dataset view={view} folders={folders} />}
    </StageScreen>
  );
}

function Dataset({ view, folders }: { view: DatasetView; folders: readonly string[] }) {
  const { profiles = {}, dropped = {}, cut = 0 } = view.manifest ?? {};
  return (
    <article class="dataset-screen">
      <header class="run-head">
        <h1>Dataset {view.folder}</h1>
        <FolderChoice label="Dataset" folders={folders} folder={view.folder} route="/datasets" />
        <Facts
          facts={[
            [count(view.examples), "examples"],
            [count(view.tasks), "tasks"],
            [count(view.tokens), "tokens"],
            [percent(view.learned / Math.max(1, view.tokens), 0), "learned"],
            [count(view.longest), "longest"],
            [count(view.duplicates), "duplicates"],
          ]}
        />
        <div class="chips">
          {Object.entries(profiles).map(([name, number]) => (
            <Chip text={`profile ${name}: ${number}`} />
          ))}
          {Object.entries(dropped).map(([reason, number]) => (
            <Chip text={`${number} left out: ${reason}`} hue="rose" />
          ))}
          {cut > 0 && <Chip text={`${cut} cut`} hue="amber" />}
        </div>
      </header>
      <Examples file={view.file} />
    </article>
  );
}

function Examples({ file }: { file: string }) {
  const pages = useItemPages(new URLSearchParams({ kind: "example", file }).toString());
  const { at, move } = cursor("row", pages.total);
  const address = (key: string) => `/chains/${pathPart(key)}/tokens`;
  const open = () => {
    const item = pages.row(at);
    if (item) go(address(item.key));
  };
  useKeys([...stepKeys("j", "k", "example", move), { keys: "enter", does: "Tokens of the example", run: open }]);
  return (
    <ItemList
      pages={pages}
      rowHeight={38}
      active={at}
      label="Examples"
      row={({ key, question, moves, toolCalls }) => {
        const share = toolCalls / Math.max(1, moves);
        return (
          <a class="example cells line small" href={href(address(key))}>
            <bdi class="one-line">{question || key}</bdi>
            <span class="soft one-line">{key}</span>
            <span class="bar" role="img" aria-label={`${percent(share, 0)} learned`}>
              <i class="hue-green" style={{ width: `${share * 100}%` }} />
            </span>
            <span class="figure">{percent(share, 0)}</span>
            <span class="figure">{count(moves)}</span>
          </a>
        );
      }}
    />
  );
}
