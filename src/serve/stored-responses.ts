/**
 * Stored responses, which clients use again: by id, as the conversation a new one continues, or item by item. What was
 * stored is on disk before the client gets it; without a folder it is kept in memory. A response belongs to its key.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Disk, nodeDisk } from "../base/files/disk.ts";
import { acquireLock } from "../base/files/lock.ts";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl, readJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import { asString, type Json, objectsOf } from "../core/json-value.ts";

export interface StoredResponse {
  id: string;
  /** Name of the caller it belongs to. */
  caller: string;
  at: number;
  response: Json;
  /** The items of its request, with ids; what `item_reference` and the list of input items find. */
  input: Json[];
  /** The items of the whole conversation so far, this response's own last. */
  conversation: Json[];
}

type Line = { stored: StoredResponse } | { deleted: string };

/** Keeps responses. */
export interface ResponseStore {
  save(stored: StoredResponse): Promise<void>;
  find(id: string, caller: string): StoredResponse | undefined;
  /** An input or output item of any stored response of the caller. */
  item(id: string, caller: string): Json | undefined;
  delete(id: string, caller: string): Promise<boolean>;
  close(): Promise<void>;
}

const keptMs = 30 * 24 * 3_600_000;

/**
 * Rewrites a folder's store without what expired or was deleted, and says how many lines that were. A store that a server has
 * open is left alone.
 */
export async function cleanResponses(
  folder: string,
  { now = Date.now, dryRun = false }: { now?: () => number; dryRun?: boolean } = {},
): Promise<number> {
  const file = join(folder, "responses.jsonl");
  if (!existsSync(file)) return 0;
  const lines = await readAllJsonl<Line>(file);
  const deleted = new Set(lines.flatMap((line) => ("deleted" in line ? [line.deleted] : [])));
  const kept = lines.filter(
    (line) => "stored" in line && !deleted.has(line.stored.id) && now() - line.stored.at < keptMs,
  );
  const gone = lines.length - kept.length;
  if (dryRun || gone === 0) return gone;
  const lock = await acquireLock(`${file}.lock`).catch(() => undefined);
  if (!lock) return 0;
  try {
    await writeFileAtomically(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
  } finally {
    await lock.release();
  }
  return gone;
}

/** Opens the store of a folder, or one in memory. */
export async function openResponseStore(
  folder?: string,
  now: () => number = Date.now,
  disk: Disk = nodeDisk,
): Promise<ResponseStore> {
  const all = new Map<string, StoredResponse>();
  // Clients may name their items as they like: two callers can have the same name for different things.
  const items = new Map<string, { item: Json; owner: StoredResponse }>();
  const itemKey = (id: string, caller: string) => `${caller}\n${id}`;
  const file = folder === undefined ? undefined : join(folder, "responses.jsonl");
  const add = (stored: StoredResponse): void => {
    all.set(stored.id, stored);
    for (const item of [...stored.input, ...objectsOf(stored.response["output"])]) {
      const id = asString(item["id"]);
      if (id) items.set(itemKey(id, stored.caller), { item, owner: stored });
    }
  };
  const remove = (id: string): void => {
    const stored = all.get(id);
    all.delete(id);
    for (const [itemId, { owner }] of items) if (owner === stored) items.delete(itemId);
  };
  if (file !== undefined) {
    for await (const line of readJsonl<Line>(file)) {
      if ("deleted" in line) remove(line.deleted);
      else if (now() - line.stored.at < keptMs) add(line.stored);
    }
  }
  const writer = file === undefined ? undefined : await openJsonl<Line>(file, { disk });
  return {
    async save(stored) {
      await writer?.append({ stored });
      add(stored);
    },
    find(id, caller) {
      const stored = all.get(id);
      return stored?.caller === caller ? stored : undefined;
    },
    item: (id, caller) => items.get(itemKey(id, caller))?.item,
    async delete(id, caller) {
      if (all.get(id)?.caller !== caller) return false;
      await writer?.append({ deleted: id });
      remove(id);
      return true;
    },
    close: async () => writer?.close(),
  };
}
