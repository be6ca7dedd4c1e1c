/** Datasets: how long examples are, how much of them is learned, which are the same, and what was left out. */
import { dirname, join, relative } from "node:path";
import { type DatasetManifest, readDatasetManifest } from "../../dataset/read-dataset.ts";
import { NotFound, type Reader, type StudioContext } from "./reader.ts";

/** How many examples fall into a step. */
export type Step = { from: number; to: number; count: number };

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
  lengths: Step[];
  /** Share of tokens that are learned, in percent. */
  shares: Step[];
  manifest?: DatasetManifest;
}

function datasets({ index, root }: StudioContext): { folder: string; file: string; id: number }[] {
  return index
    .files()
    .filter(({ kind }) => kind === "examples")
    .map(({ path, id }) => ({ folder: relative(root, dirname(path)) || ".", file: relative(root, path), id }));
}

/** `GET /api/datasets`. */
export const readDatasets: Reader = (_query, context) => datasets(context).map(({ folder }) => folder);

/** `GET /api/dataset?folder=…`. */
export const readDataset: Reader = async (query, context): Promise<DatasetView> => {
  const found = datasets(context).find(({ folder }) => folder === query.get("folder"));
  if (!found) throw new NotFound(`no dataset is in "${query.get("folder")}"`);
  const { database } = context.index;
  const rows = database
    .prepare("SELECT moves, toolCalls FROM item WHERE kind = 'example' AND file = ?")
    .all(found.id) as unknown as { moves: number; toolCalls: number }[];
  const { tasks, different } = database
    .prepare(
      "SELECT count(DISTINCT taskId) AS tasks, count(DISTINCT answer) AS different FROM item WHERE kind = 'example' AND file = ?",
    )
    .get(found.id) as { tasks: number; different: number };
  const manifest = await readDatasetManifest(join(context.root, found.folder));
  const sum = (pick: (row: { moves: number; toolCalls: number }) => number) =>
    rows.reduce((all, row) => all + pick(row), 0);
  return {
    folder: found.folder,
    file: found.file,
    examples: rows.length,
    tasks,
    tokens: sum(({ moves }) => moves),
    learned: sum(({ toolCalls }) => toolCalls),
    longest: rows.reduce((most, { moves }) => Math.max(most, moves), 0),
    duplicates: rows.length - different,
    lengths: stepsOf(rows.map(({ moves }) => moves)),
    shares: stepsOf(
      rows.map(({ moves, toolCalls }) => (100 * toolCalls) / Math.max(1, moves)),
      0,
      100,
    ),
    manifest,
  };
};

/** Twenty steps of equal width. */
function stepsOf(
  values: readonly number[],
  low = 0,
  high = values.reduce((most, value) => Math.max(most, value), 1),
): Step[] {
  const width = Math.max(1e-9, (high - low) / 20);
  const steps = Array.from({ length: 20 }, (_, index) => ({
    from: low + index * width,
    to: low + (index + 1) * width,
    count: 0,
  }));
  for (const value of values) steps[Math.max(0, Math.min(19, Math.floor((value - low) / width)))]!.count++;
  return steps;
}
