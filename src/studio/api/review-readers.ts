/**
 * The queue of chains that people look at, one at a time or two of a task side by side. Decisions are in the file of
 * annotations; the queue only says what is still open.
 */
import { chainHash } from "../../core/annotation.ts";
import type { ChainVerdict, ChainVerdicts } from "../../dataset/read-annotations.ts";
import { type ChainView, chainView } from "./chain-view.ts";
import { filterOf } from "./item-readers.ts";
import type { ItemView } from "./item-view.ts";
import { readItem } from "./read-item.ts";
import { NotFound, type Reader, type StudioContext } from "./reader.ts";

/** A chain in review. */
export interface ReviewedChain {
  key: string;
  file: string;
  /** Of its words: what is decided is decided about these. */
  hash: string;
  chain?: ChainView;
  /** Why it can't be shown. */
  problem?: string;
  verdict?: ChainVerdict;
  /** Something was decided about a chain of this name that had other words. */
  changed: boolean;
}

/** How an entry of the queue is written in the address. */
export type ReviewPlace = Record<"at" | "in" | "and", string | undefined>;

export interface ReviewView {
  shown: ReviewedChain[];
  /** From 1; 0 where the queue is empty. */
  position: number;
  total: number;
  counts: Record<"open" | "keep" | "drop" | "edit", number>;
  before?: ReviewPlace;
  after?: ReviewPlace;
  /** What of the annotations can't be read. */
  problems: readonly string[];
}

/** Entries of a queue: each has the same number of chains. */
interface Queue {
  ids: Int32Array;
  width: 1 | 2;
}

/** `GET /api/review?only=open&at=…&in=…`: one chain, and where the queue continues. */
export const readReview: Reader = (query, context) =>
  readQueue(query, context, { ids: context.items.ids(filterOf(query)), width: 1 });

/** `GET /api/pairs?only=open&at=…&and=…`: two chains of one task. */
export const readPairs: Reader = (query, context) =>
  readQueue(query, context, { ids: context.items.pairs(filterOf(query)), width: 2 });

async function readQueue(query: URLSearchParams, context: StudioContext, queue: Queue): Promise<ReviewView> {
  const verdicts = await context.annotations.verdicts();
  const keys = context.items.withKeys(verdicts.keys());
  const length = queue.ids.length / queue.width;
  const wordOf = (place: number): ChainVerdict["verdict"] | "open" => {
    for (let one = 0; one < queue.width; one++) {
      const key = keys.get(queue.ids[place * queue.width + one]!);
      if (key === undefined) return "open";
      if (one === queue.width - 1) return [...verdicts.get(key)!.values()].at(-1)!.verdict;
    }
    return "open";
  };
  const counts = { open: 0, keep: 0, drop: 0, edit: 0 };
  for (let place = 0; place < length; place++) counts[wordOf(place)]++;
  const only = query.get("only") ?? "open";
  const next = (from: number, by: 1 | -1): number | undefined => {
    for (let place = from; place >= 0 && place < length; place += by)
      if (only === "all" || wordOf(place) === only) return place;
    return undefined;
  };
  const place = askedPlace(query, context, queue) ?? next(0, 1);
  const itemsAt = (at: number) =>
    [...queue.ids.subarray(at * queue.width, (at + 1) * queue.width)].map((id) => context.items.byId(id)!);
  const placeOf = (at: number | undefined): ReviewPlace | undefined => {
    if (at === undefined) return undefined;
    const [first, second] = itemsAt(at);
    return { at: first?.key, in: queue.width === 1 ? first?.file : undefined, and: second?.key };
  };
  return {
    shown: place === undefined ? [] : itemsAt(place).map((item) => reviewed(item, verdicts, context)),
    position: place === undefined ? 0 : place + 1,
    total: length,
    counts,
    before: place === undefined ? undefined : placeOf(next(place - 1, -1)),
    after: place === undefined ? undefined : placeOf(next(place + 1, 1)),
    problems: context.annotations.problems(),
  };
}

/** The place of the entry that the address names; undefined where it names none. */
function askedPlace(query: URLSearchParams, { items }: StudioContext, { ids, width }: Queue): number | undefined {
  const [at, and] = [query.get("at"), query.get("and")];
  if (at === null) return undefined;
  const named = items.withKeys(and === null ? [at] : [at, and]);
  const file = query.get("in");
  for (let place = 0; place * width < ids.length; place++) {
    const isFirst = named.get(ids[place * width]!) === at;
    if (!isFirst || (width === 2 && named.get(ids[place * width + 1]!) !== and)) continue;
    if (file === null || items.byId(ids[place * width]!)?.file === file) return place;
  }
  throw new NotFound(`the chain "${at}" is not in this queue`);
}

function reviewed(item: ItemView, verdicts: ChainVerdicts, { root }: StudioContext): ReviewedChain {
  const { key, file } = item;
  const decided = verdicts.get(key);
  try {
    const stored = readItem(root, item);
    if (stored.kind !== "chain") throw new NotFound(`${key} is not a chain`);
    const hash = chainHash(stored.chain);
    const verdict = decided?.get(hash);
    const changed = decided !== undefined && verdict === undefined;
    return { key, file, hash, chain: chainView(stored.chain, stored.around), verdict, changed };
  } catch (error) {
    return { key, file, hash: "", problem: (error as Error).message, changed: false };
  }
}
