/** The name under which a message is stored in a team run: equal messages have equal names, whoever recorded them. */
import { hash } from "node:crypto";
import type { Message } from "./message.ts";

const hashes = new WeakMap<Message, string>();

/** A hash of all that a message says; the message must not change afterwards. */
export function messageHash(message: Message): string {
  let key = hashes.get(message);
  if (key === undefined) {
    const { role, content, reasoning, toolCalls, toolCallId, name } = message;
    key = hash("sha256", JSON.stringify([role, content, reasoning, toolCalls, toolCallId, name])).slice(0, 24);
    hashes.set(message, key);
  }
  return key;
}
