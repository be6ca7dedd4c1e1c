/** Datasets: how much of the examples is learned, which are the same, and what was left out. */
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
  return {
    folder,
    file,
    ...sums,
    /** Examples whose tokens are those of another. */
    duplicates: sums.examples - different,
    manifest: await readDatasetManifest(path),
  };
}

/** A dataset as the browser draws it. */
export type DatasetView = Awaited<ReturnType<typeof readDataset>>;
