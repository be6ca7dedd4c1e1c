/**
 * What passed a recorder without being recorded, counted: a recording that silently misses half of what an app did
 * looks whole and is not. Counts are beside the recordings, one file for each writer.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readJsonl } from "../base/files/read-jsonl.ts";

const unrecordedSchema = z.object({
  version: z.literal(1),
  recorder: z.enum(["proxy", "preload"]),
  /** `GET /v1/models`, `websocket api.example.com`. */
  what: z.string(),
  count: z.number(),
});

/** One kind of traffic that was not recorded, and how often it came. */
export type Unrecorded = z.infer<typeof unrecordedSchema>;

export interface UnrecordedCounter {
  add(what: string): void;
  list(recorder: Unrecorded["recorder"]): Unrecorded[];
}

/** Starts counting; kinds beyond a hundred are counted together. */
export function unrecordedCounter(): UnrecordedCounter {
  const counts = new Map<string, number>();
  return {
    add(what) {
      const key = counts.has(what) || counts.size < 100 ? what : "(others)";
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    list: (recorder) => [...counts].map(([what, count]) => ({ version: 1, recorder, what, count })),
  };
}

/** The counts of all recorders that wrote into a folder, summed by kind. */
export async function readUnrecorded(folder: string): Promise<Unrecorded[]> {
  const sums = new Map<string, Unrecorded>();
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((one) => /^unrecorded-.*\.jsonl$/.test(one)).sort()) {
    for await (const one of readJsonl(join(folder, name), unrecordedSchema)) {
      const key = `${one.recorder} ${one.what}`;
      const known = sums.get(key);
      if (known) known.count += one.count;
      else sums.set(key, one);
    }
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}

/** One line for people. */
export function unrecordedText(counts: readonly Unrecorded[]): string {
  const shown = counts.slice(0, 8).map(({ what, count }) => `${what} (${count})`);
  const rest = counts.length - shown.length;
  return `not recorded: ${shown.join(", ")}${rest > 0 ? ` and ${rest} other kinds` : ""}`;
}
