/**
 * Which model serves, in a workspace: an append-only list of acts. A model is a candidate until it is promoted, a canary while it
 * gets a share of the conversations, live when it gets the rest, and retired when another took its place or it was rolled back.
 */
import { join } from "node:path";
import { z } from "zod";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { hashText } from "../base/work/random.ts";
import { UsageError } from "../core/errors.ts";

const actSchema = z.object({
  at: z.string(),
  act: z.enum(["promote", "canary", "rollback"]),
  /** Absolute path of the model's folder. */
  folder: z.string().optional(),
  /** Share of the conversations of a canary. */
  weight: z.number().optional(),
  why: z.string().optional(),
});
export type Act = z.infer<typeof actSchema>;

/** What serves now. */
export interface Serving {
  live?: string;
  canary?: { folder: string; weight: number };
  /** Folders that were live before, oldest first; a rollback goes to the last. */
  before: readonly string[];
  /** Folders that were rolled back: no conversation may stay with them. */
  withdrawn: ReadonlySet<string>;
}

/** The file of a workspace's registry. */
export const registryFile = (workspace: string) => join(workspace, "switch", "versions.jsonl");

export async function readActs(workspace: string): Promise<Act[]> {
  return readAllJsonl(registryFile(workspace), actSchema);
}

/** Appends an act; what it does is refused where it makes no sense. */
export async function recordAct(workspace: string, act: Omit<Act, "at">): Promise<Serving> {
  // Locked before it is read: of two rollbacks at once the second would be judged by a list without the first.
  const file = await openJsonl<Act>(registryFile(workspace));
  try {
    const made = { at: new Date().toISOString(), ...act };
    const serving = servingAfter([...(await readActs(workspace)), made]);
    await file.append(made);
    return serving;
  } finally {
    await file.close();
  }
}

/** What serves after these acts. */
export function servingAfter(acts: readonly Act[]): Serving {
  let live: string | undefined;
  let canary: Serving["canary"];
  const before: string[] = [];
  const withdrawn = new Set<string>();
  for (const { act, folder, weight = 0.1 } of acts) {
    if (act === "rollback") {
      if (canary) {
        withdrawn.add(canary.folder);
        canary = undefined;
      } else {
        const previous = before.pop();
        if (live === undefined || previous === undefined) throw new UsageError("there is nothing to go back to: no other model was live before"); // biome-ignore format: one refusal
        withdrawn.add(live);
        live = previous;
      }
      withdrawn.delete(live ?? "");
      continue;
    }
    if (folder === undefined) throw new UsageError(`${act} needs a model`);
    withdrawn.delete(folder);
    if (act === "canary") {
      if (live === undefined) throw new UsageError("no model is live: promote one first, then a canary beside it");
      if (folder === live) throw new UsageError("this model is live already");
      canary = { folder, weight };
      continue;
    }
    if (live !== undefined && live !== folder) before.push(live);
    live = folder;
    if (canary?.folder === folder) canary = undefined;
  }
  return { live, ...(canary && { canary }), before, withdrawn };
}

export type Status = "candidate" | "canary" | "live" | "retired";

/** How a model stands in the registry. */
export function statusOf({ live, canary, before, withdrawn }: Serving, folder: string): Status {
  if (folder === live) return "live";
  if (folder === canary?.folder) return "canary";
  return before.includes(folder) || withdrawn.has(folder) ? "retired" : "candidate";
}

/** The version that a conversation gets, which depends on its name alone until the weights change. */
export function versionFor({ live, canary }: Serving, conversation: string): string | undefined {
  return canary && hashText(`canary\n${conversation}`) / 2 ** 32 < canary.weight ? canary.folder : live;
}
