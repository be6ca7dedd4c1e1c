/**
 * The queue of chains that people look at, one at a time. Decisions are in the file of annotations; the queue only says
 * what is still open.
 */
import { dirname } from "node:path";
import { chainHash } from "../../core/annotation.ts";
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
  /** Something was decided about a chain of this name that had other words. */
  changed: boolean;
}

/** How an entry of the queue is written in the address. */
export type ReviewPlace = Record<"at" | "in", string>;

/** `GET /api/review?only=open&at=…&in=…`: one chain, and where the queue continues. */
export async function readReview(query: URLSearchParams, context: StudioContext) {
  const { items, annotations } = context;
  // What was evaluated is not for training: it stands in the queue only where its task or file was asked for.
  const tested = new Set(
    query.has("task") || query.has("file") ? [] : stageFolders(context, "evaluation").map(({ folder }) => folder),
  );
  const ids = items.ids(filterOf(query)).filter((id) => !tested.has(dirname(items.byId(id)?.file ?? "")));
  const verdicts = await annotations.verdicts();
  const keys = items.withKeys(verdicts.keys());
  const wordAt = (place: number) => {
    const key = keys.get(ids[place]!);
    return key === undefined ? "open" : [...verdicts.get(key)!.values()].at(-1)!.verdict;
  };
  const counts = { open: 0, keep: 0, drop: 0, edit: 0 };
  // A decision about a chain counts once, however many files hold the chain.
  const counted = new Set<string>();
  for (const place of ids.keys()) {
    const word = wordAt(place);
    const key = keys.get(ids[place]!);
    if (word === "open" || !counted.has(key!)) counts[word]++;
    if (word !== "open") counted.add(key!);
  }
  const only = query.get("only") ?? "open";
  const next = (from: number, by: 1 | -1): number | undefined => {
    for (let place = from; place >= 0 && place < ids.length; place += by)
      if (only === "all" || wordAt(place) === only) return place;
    return undefined;
  };
  const placeOf = (place: number | undefined): ReviewPlace | undefined => {
    if (place === undefined) return undefined;
    const { key, file } = items.byId(ids[place]!)!;
    return { at: key, in: file };
  };
  const place = askedPlace(query, context, ids) ?? next(0, 1);
  return {
    total: ids.length,
    counts,
    /** What of the annotations can't be read. */
    problems: annotations.problems(),
    /** From 1; 0 where the queue is empty. */
    position: place === undefined ? 0 : place + 1,
    ...(place !== undefined && {
      shown: reviewed(items.byId(ids[place]!)!, verdicts, context),
      before: placeOf(next(place - 1, -1)),
      after: placeOf(next(place + 1, 1)),
    }),
  };
}

/** The queue as the browser draws it. */
export type ReviewView = Awaited<ReturnType<typeof readReview>>;

/** The place of the entry that the address names; undefined where it names none. */
function askedPlace(query: URLSearchParams, { items }: StudioContext, ids: Int32Array): number | undefined {
  const [at, file] = [query.get("at"), query.get("in")];
  if (at === null) return undefined;
  const named = items.withKeys([at]);
  const place = ids.findIndex((id) => named.has(id) && (file === null || items.byId(id)?.file === file));
  if (place < 0) throw new NotFound(`the chain "${at}" is not in this queue`);
  return place;
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
