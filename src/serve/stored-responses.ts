/**
 * Responses that clients come back to: by id, as the conversation a new one continues, or item by item. What was stored is
 * on disk before the client hears of it; without a folder it lives as long as the process. A response belongs to its key.
 */
import { join } from "node:path";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
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

/** Opens the store of a folder, or one that forgets. */
export async function openResponseStore(folder?: string, now: () => number = Date.now): Promise<ResponseStore> {
  const all = new Map<string, StoredResponse>();
  const items = new Map<string, { item: Json; owner: StoredResponse }>();
  const file = folder === undefined ? undefined : join(folder, "responses.jsonl");
  const add = (stored: StoredResponse): void => {
    all.set(stored.id, stored);
    for (const item of [...stored.input, ...objectsOf(stored.response["output"])]) {
      const id = asString(item["id"]);
      if (id) items.set(id, { item, owner: stored });
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
  const writer = file === undefined ? undefined : await openJsonl<Line>(file);
  return {
    async save(stored) {
      await writer?.append({ stored });
      add(stored);
    },
    find(id, caller) {
      const stored = all.get(id);
      return stored?.caller === caller ? stored : undefined;
    },
    item(id, caller) {
      const found = items.get(id);
      return found?.owner.caller === caller ? found.item : undefined;
    },
    async delete(id, caller) {
      if (all.get(id)?.caller !== caller) return false;
      await writer?.append({ deleted: id });
      remove(id);
      return true;
    },
    close: async () => writer?.close(),
  };
}
