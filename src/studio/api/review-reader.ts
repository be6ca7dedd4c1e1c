/**
 * The queue of chains that people look at, one at a time. Decisions are in the file of annotations; the queue only says
 * what is still open.
 */
import { chainHash, type Feedback } from "../../core/annotation.ts";
import type { ChainVerdict, ChainVerdicts } from "../../dataset/read-annotations.ts";
import { type ChainView, chainView } from "./chain-view.ts";
import { filterOf } from "./item-readers.ts";
import type { ItemView } from "./query-items.ts";
import { NotFound, readItem, type StudioContext } from "./reader.ts";
import { stageFolders } from "./stage-folders.ts";

export interface ReviewedChain {
  key: string;
  file: string;
  /** Of its words: what is decided is decided about these. */
  hash: string;
  chain?: ChainView;
  problem?: string;
  verdict?: ChainVerdict;
  /** What users of the served model said about it, oldest first. */
  said: readonly Feedback[];
  /** Something was decided about a chain of this name that had other words. */
  changed: boolean;
}

/** How an entry of the queue is written in the address. */
export type ReviewPlace = Record<"at" | "in", string>;

/** `GET /api/review?only=open&at=…&in=…`: one chain, and where the queue continues. */
export async function readReview(query: URLSearchParams, context: StudioContext) {
  const { items, annotations } = context;
  // What was evaluated is not for training: it stands in the queue only where its task or file was asked for.
  const tested = query.has("task") || query.has("file") ? [] : stageFolders(context, "evaluation");
  const queue = items.distinct(filterOf(query), new Set(tested.map(({ folder }) => folder)));
  const verdicts = await annotations.verdicts();
  const wordOf = (key: string) => [...(verdicts.get(key)?.values() ?? [])].at(-1)?.verdict ?? "open";
  const counts = { open: 0, keep: 0, drop: 0, edit: 0, said: 0 };
  for (const { key } of queue) {
    counts[wordOf(key)]++;
    if (annotations.said(key).length > 0) counts.said++;
  }
  const only = query.get("only") ?? "open";
  const fits = ({ key }: { key: string }) =>
    only === "all" || (only === "said" ? annotations.said(key).length > 0 : wordOf(key) === only);
  const placeOf = (found: { key: string; file: string } | undefined): ReviewPlace | undefined =>
    found && { at: found.key, in: found.file };
  const place = askedPlace(query, queue) ?? queue.findIndex(fits);
  const shown = queue[place];
  return {
    total: queue.length,
    counts,
    /** What of the annotations can't be read. */
    problems: annotations.problems(),
    /** From 1; 0 where the queue is empty. */
    position: place + 1,
    ...(shown && {
      shown: reviewed(items.byId(shown.id)!, verdicts, context),
      before: placeOf(queue.slice(0, place).findLast(fits)),
      after: placeOf(queue.slice(place + 1).find(fits)),
    }),
  };
}

/** The queue as the browser draws it. */
export type ReviewView = Awaited<ReturnType<typeof readReview>>;

/** The place of the entry that the address names; undefined where it names none. */
function askedPlace(query: URLSearchParams, queue: readonly { key: string; file: string }[]): number | undefined {
  const at = query.get("at");
  if (at === null) return undefined;
  const inFile = queue.findIndex(({ key, file }) => key === at && file === query.get("in"));
  const place = inFile >= 0 ? inFile : queue.findIndex(({ key }) => key === at);
  if (place < 0) throw new NotFound(`the chain "${at}" is not in this queue`);
  return place;
}

function reviewed(item: ItemView, verdicts: ChainVerdicts, { root, annotations }: StudioContext): ReviewedChain {
  const { key, file } = item;
  const about = { key, file, said: annotations.said(key) };
  const decided = verdicts.get(key);
  try {
    const stored = readItem(root, item);
    if (stored.kind !== "chain") throw new NotFound(`${key} is not a chain`);
    const hash = chainHash(stored.chain);
    const verdict = decided?.get(hash);
    const changed = decided !== undefined && verdict === undefined;
    return { ...about, hash, chain: chainView(stored.chain, stored.around), verdict, changed };
  } catch (error) {
    return { ...about, hash: "", problem: (error as Error).message, changed: false };
  }
}
