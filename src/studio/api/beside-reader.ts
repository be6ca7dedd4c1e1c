/** The team run beside the chain it became: both views, and the other chains that were made from the same run. */
import { type ChainView, chainView } from "./chain-view.ts";
import type { ItemView } from "./item-view.ts";
import { readItem } from "./read-item.ts";
import { askedItem, type Reader, type StudioContext } from "./reader.ts";
import { type RunView, runView } from "./run-view.ts";

/** What the screen of a run gets. */
export interface BesideView {
  run?: RunView;
  chain?: ChainView;
  /** Every chain that was distilled from the run. */
  chains: { key: string; file: string; origin: string; moves: number }[];
  /** Where run and chain are on disk. */
  places: { run?: string; chain?: string };
  /** What could not be shown, in words. */
  problems: string[];
  /** Keys of the items before and after it in its file. */
  before?: string;
  after?: string;
}

/** `GET /api/beside?run=…&chain=…`: one of the two is enough, the other is found. */
export const readBeside: Reader = (query, context) => {
  const view: BesideView = { chains: [], places: {}, problems: [] };
  const asked = query.has("run")
    ? askedItem(query, context, "run", "run")
    : askedItem(query, context, "chain", "chain");
  neighbours(view, asked.item, context);
  if (asked.stored.kind === "run") {
    view.run = runView(asked.stored.run);
    view.places.run = placeOf(asked.item);
    addChain(view, asked.item.key, query.get("chain") ?? undefined, context);
  } else if (asked.stored.kind === "chain") {
    view.chain = chainView(asked.stored.chain, asked.stored.around);
    view.places.chain = placeOf(asked.item);
    addRun(view, view.chain.runId, context);
  }
  return view;
};

function addChain(view: BesideView, runKey: string, wanted: string | undefined, context: StudioContext): void {
  const found = context.items.chainsOf(runKey);
  view.chains = found.map(({ key, file, origin, moves }) => ({ key, file, origin, moves }));
  const item = found.find(({ key }) => key === wanted) ?? found[0];
  if (!item) return;
  try {
    const stored = readItem(context.root, item);
    if (stored.kind === "chain") view.chain = chainView(stored.chain, stored.around);
    view.places.chain = placeOf(item);
  } catch (error) {
    view.problems.push((error as Error).message);
  }
}

function addRun(view: BesideView, runKey: string | undefined, context: StudioContext): void {
  if (runKey === undefined) return;
  const item = context.items.find("run", runKey);
  if (!item) {
    view.problems.push(`the team run ${runKey} that this chain was made from is not in what was opened`);
    return;
  }
  try {
    const stored = readItem(context.root, item);
    if (stored.kind === "run") view.run = runView(stored.run);
    view.places.run = placeOf(item);
    view.chains = context.items.chainsOf(runKey).map(({ key, file, origin, moves }) => ({ key, file, origin, moves }));
  } catch (error) {
    view.problems.push((error as Error).message);
  }
}

function neighbours(view: BesideView, item: ItemView, { index }: StudioContext): void {
  const next = (order: string) =>
    index.database
      .prepare(
        `SELECT key FROM item WHERE +kind = ? AND id ${order === "ASC" ? ">" : "<"} ? ORDER BY id ${order} LIMIT 1`,
      )
      .get(item.kind, item.id) as { key: string } | undefined;
  view.before = next("DESC")?.key;
  view.after = next("ASC")?.key;
}

function placeOf({ file, line }: ItemView): string {
  return `${file}:${line}`;
}
