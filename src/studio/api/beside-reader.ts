/** The team run beside the chain it became: both views, and the other chains that were made from the same run. */
import { type ChainView, chainView } from "./chain-view.ts";
import { filterOf, sortOf } from "./item-readers.ts";
import type { ItemView } from "./query-items.ts";
import { askedItem, type Reader, readItem, type StoredItem } from "./reader.ts";
import { type RunView, runView } from "./run-view.ts";

/** What the screen of a run gets. */
export interface BesideView {
  run?: RunView;
  chain?: ChainView;
  /** Every chain that was distilled from the run. */
  chains: Pick<ItemView, "key" | "file">[];
  places: { run?: string; chain?: string };
  /** What could not be shown, in words. */
  problems: string[];
  /** The items before and after it, in the list that the address names, else in its file. */
  before?: Neighbour;
  after?: Neighbour;
}

/** An item by its name and file: several have the same name. */
export type Neighbour = Pick<ItemView, "key" | "file">;

/** `GET /api/beside?run=…&chain=…`: one of the two is enough, the other is found. */
export const readBeside: Reader = (query, context): BesideView => {
  const { items, root } = context;
  const view: BesideView = { chains: [], places: {}, problems: [] };
  const show = (item: ItemView, stored: StoredItem) => {
    if (stored.kind === "run") view.run = runView(stored.run);
    if (stored.kind === "chain") view.chain = chainView(stored.chain, stored.around);
    if (item.kind !== "example") view.places[item.kind] = `${item.file}:${item.line}`;
  };
  const kind = query.has("run") ? "run" : "chain";
  const asked = askedItem(query, context, kind, kind);
  show(asked.item, asked.stored);
  const runKey = kind === "run" ? asked.item.key : view.chain?.runId;
  const chains = runKey === undefined ? [] : items.chainsOf(runKey);
  view.chains = chains.map(({ key, file }) => ({ key, file }));
  const other =
    kind === "run"
      ? (chains.find(({ key }) => key === query.get("chain")) ?? chains[0])
      : runKey === undefined
        ? undefined
        : items.find("run", runKey);
  if (other) {
    try {
      show(other, readItem(root, other));
    } catch (error) {
      view.problems.push((error as Error).message);
    }
  } else if (kind === "chain" && runKey !== undefined)
    view.problems.push(`the team run ${runKey} that this chain was made from is not in what was opened`);
  const list = new URLSearchParams(query.get("list") ?? `file=${encodeURIComponent(asked.item.file)}`);
  list.set("kind", kind);
  const ids = items.ids(filterOf(list), sortOf(list));
  const at = ids.indexOf(asked.item.id);
  const neighbour = (place: number): Neighbour | undefined => {
    const found = at < 0 ? undefined : items.byId(ids[place] ?? -1);
    return found && { key: found.key, file: found.file };
  };
  view.before = neighbour(at - 1);
  view.after = neighbour(at + 1);
  return view;
};
