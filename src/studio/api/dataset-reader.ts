/** Datasets: how long examples are, how much of them is learned, which are the same, and what was left out. */
import { type DatasetManifest, readDatasetManifest } from "../../dataset/read-dataset.ts";
import type { Reader } from "./reader.ts";
import { type SpreadStep, spreadOf } from "./spread.ts";
import { askedFolder } from "./stage-folders.ts";

export interface DatasetView {
  folder: string;
  /** The file of its examples. */
  file: string;
  examples: number;
  tasks: number;
  tokens: number;
  learned: number;
  longest: number;
  /** Examples whose tokens are those of another. */
  duplicates: number;
  lengths: SpreadStep[];
  /** Share of tokens that are learned, in percent. */
  shares: SpreadStep[];
  manifest?: DatasetManifest;
}

/** `GET /api/dataset?folder=…`. */
export const readDataset: Reader = async (query, context): Promise<DatasetView> => {
  const { folder, file, path, row } = askedFolder(query, context, "examples");
  // Of an example the index keeps its tokens as moves, those that are learned as calls, and a hash of them as answer.
  const { different, ...sums } = context.catalog.database
    .prepare(
      `SELECT count(*) AS examples, count(DISTINCT taskId) AS tasks, count(DISTINCT answer) AS different,
         coalesce(sum(moves), 0) AS tokens, coalesce(sum(toolCalls), 0) AS learned, coalesce(max(moves), 0) AS longest
       FROM item WHERE kind = 'example' AND file = ?`,
    )
    .get(row.id) as Pick<DatasetView, "examples" | "tasks" | "tokens" | "learned" | "longest"> & { different: number };
  const rows = context.catalog.database
    .prepare("SELECT moves, toolCalls FROM item WHERE kind = 'example' AND file = ?")
    .all(row.id) as { moves: number; toolCalls: number }[];
  const shares = rows.map(({ moves, toolCalls }) => (100 * toolCalls) / Math.max(1, moves));
  return {
    folder,
    file,
    ...sums,
    duplicates: sums.examples - different,
    lengths: spreadOf(
      rows.map(({ moves }) => moves),
      Math.max(1, sums.longest),
    ),
    shares: spreadOf(shares, 100),
    manifest: await readDatasetManifest(path),
  };
};
