/**
 * Which version each conversation has: the one that it began with, also when another is promoted meanwhile, until it was silent
 * for a day. A version that was rolled back loses its conversations at once. Kept in a file, so that a restart changes nothing.
 */
import { statSync } from "node:fs";
import { type JsonlWriter, openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import { inOrder } from "../base/work/in-order.ts";
import { readActs, registryFile, type Serving, servingAfter, versionFor } from "./registry.ts";

interface Pin {
  conversation: string;
  folder: string;
  at: number;
}

const silentMs = 24 * 3_600_000;

export interface Conversations {
  /** The version of a conversation; undefined where no model is live. */
  versionOf(conversation: string): Promise<string | undefined>;
  /** What serves now. */
  serving(): Promise<Serving>;
  close(): Promise<void>;
}

/** Opens the conversations of a workspace; changes of the registry are seen at the next request. */
export async function openConversations(workspace: string, file: string, now = Date.now): Promise<Conversations> {
  const pins = new Map<string, Pin>();
  for (const pin of await readAllJsonl<Pin>(file)) pins.set(pin.conversation, pin);
  for (const [name, { at }] of pins) if (at < now() - silentMs) pins.delete(name);
  await writeFileAtomically(file, [...pins.values()].map((pin) => `${JSON.stringify(pin)}\n`).join(""));
  const log: JsonlWriter<Pin> = await openJsonl<Pin>(file, { lock: false });
  const inTurn = inOrder();
  let seen = "";
  let current: Serving = { before: [], withdrawn: new Set() };

  async function serving(): Promise<Serving> {
    const about = statSync(registryFile(workspace), { throwIfNoEntry: false });
    const state = `${about?.mtimeMs} ${about?.size}`;
    if (state !== seen) {
      current = servingAfter(await readActs(workspace));
      seen = state;
    }
    return current;
  }

  return {
    serving,
    versionOf: (conversation) =>
      inTurn(async () => {
        const state = await serving();
        const pinned = pins.get(conversation);
        const open = pinned && pinned.at >= now() - silentMs && !state.withdrawn.has(pinned.folder);
        const folder = open ? pinned.folder : versionFor(state, conversation);
        if (folder === undefined) return undefined;
        const pin = { conversation, folder, at: now() };
        // Written when it is new, and once an hour after that.
        if (!open || pinned.at < now() - silentMs / 24) await log.append(pin);
        else pin.at = pinned.at;
        pins.set(conversation, pin);
        return folder;
      }),
    close: () => log.close(),
  };
}
