/** Datasets: how long examples are, how much of them is learned, which are the same, and what was left out. */
import { readDatasetManifest } from "../../dataset/read-tokens.ts";
import type { StudioContext } from "./reader.ts";
import { askedFolder } from "./stage-folders.ts";

/** `GET /api/dataset?folder=…`. */
export async function readDataset(query: URLSearchParams, context: StudioContext) {
  const { folder, file, path, row } = askedFolder(query, context, "examples");
  // Of an example the index keeps its tokens as moves, those that are learned as calls, and a hash of them as answer.
  const { different, ...sums } = context.catalog.database
    .prepare(
      `SELECT count(*) AS examples, count(DISTINCT taskId) AS tasks, count(DISTINCT answer) AS different,
         coalesce(sum(moves), 0) AS tokens, coalesce(sum(toolCalls), 0) AS learned, coalesce(max(moves), 0) AS longest
       FROM item WHERE kind = 'example' AND file = ?`,
    )
    .get(row.id) as Record<"examples" | "tasks" | "tokens" | "learned" | "longest" | "different", number>;
  const rows = context.catalog.database
    .prepare("SELECT moves, toolCalls FROM item WHERE kind = 'example' AND file = ?")
    .all(row.id) as { moves: number; toolCalls: number }[];
  const shares = rows.map(({ moves, toolCalls }) => (100 * toolCalls) / Math.max(1, moves));
  return {
    folder,
    file,
    ...sums,
    /** Examples whose tokens are those of another. */
    duplicates: sums.examples - different,
    lengths: spreadOf(
      rows.map(({ moves }) => moves),
      Math.max(1, sums.longest),
    ),
    /** Share of tokens that are learned, in percent. */
    shares: spreadOf(shares, 100),
    manifest: await readDatasetManifest(path),
  };
}

/** A dataset as the browser draws it. */
export type DatasetView = Awaited<ReturnType<typeof readDataset>>;

/** One step; `to` is not part of it unless it is the last. */
export interface SpreadStep {
  from: number;
  to: number;
  count: number;
}

const mostSteps = 40;

/** Steps from 0 to a highest value; whole values have steps of whole width. */
export function spreadOf(values: readonly number[], high: number): SpreadStep[] {
  const whole = values.every(Number.isInteger);
  const width = whole ? Math.max(1, Math.ceil((high + 1) / mostSteps)) : high / mostSteps;
  const steps = Array.from({ length: whole ? Math.ceil((high + 1) / width) : mostSteps }, (_, index) => ({
    from: index * width,
    to: (index + 1) * width,
    count: 0,
  }));
  for (const value of values) steps[Math.min(steps.length - 1, Math.floor(value / width))]!.count++;
  return steps;
}
