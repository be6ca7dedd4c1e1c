/** An overview of a dataset: lengths, how much of it is learned, and the words that tell two sets apart. */
import type { Dataset } from "./dataset-folder.ts";
import { trainedTokens } from "./training-sequence.ts";

/** Reads the whole set once; keeps one number per example. */
export async function datasetStats(dataset: Pick<Dataset, "sequences">) {
  const lengths: number[] = [];
  const tasks = new Set<string>();
  const profiles: Record<string, number> = {};
  let trained = 0;
  for await (const sequence of dataset.sequences()) {
    lengths.push(sequence.tokens.length);
    tasks.add(sequence.taskId);
    profiles[sequence.profile] = (profiles[sequence.profile] ?? 0) + 1;
    trained += trainedTokens(sequence);
  }
  lengths.sort((a, b) => a - b);
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const at = (share: number) => lengths[Math.min(lengths.length - 1, Math.floor(share * lengths.length))] ?? 0;
  return {
    examples: lengths.length,
    tasks: tasks.size,
    tokens,
    trainedTokens: trained,
    /** Length of an example at these shares of the set. */
    lengths: {
      min: at(0),
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      max: lengths.at(-1) ?? 0,
      mean: lengths.length === 0 ? 0 : tokens / lengths.length,
    },
    /** Examples per length bucket; `upTo` is the largest length of the bucket. */
    histogram: histogram(lengths),
    profiles,
  };
}

export type DatasetStats = Awaited<ReturnType<typeof datasetStats>>;

/** Twelve buckets of equal width over the range of the lengths. */
function histogram(sorted: readonly number[], buckets = 12): { upTo: number; count: number }[] {
  const longest = sorted.at(-1) ?? 0;
  const width = Math.max(1, Math.ceil(longest / buckets));
  const result: { upTo: number; count: number }[] = [];
  for (let upTo = width; upTo < longest + width; upTo += width) result.push({ upTo, count: 0 });
  for (const length of sorted) result[Math.max(0, Math.ceil(length / width) - 1)]!.count++;
  return result;
}
