/** One chat message: shared by models, teams and recorded traffic. Tool calls keep their arguments as text. */
import { hash } from "node:crypto";
import type { z } from "zod";
import { lazySchema } from "./lazy-schema.ts";

export const toolCallSchema = lazySchema((z) =>
  z.object({
    id: z.string(),
    name: z.string(),
    /** Exactly what the model wrote, usually JSON; never re-serialised, so that it can be replayed byte for byte. */
    arguments: z.string(),
  }),
);
export type ToolCall = z.infer<typeof toolCallSchema>;

export const messageSchema = lazySchema((z) =>
  z.object({
    role: z.enum(["system", "user", "assistant", "tool"]),
    content: z.string(),
    /** Hidden reasoning that some servers return beside the content. */
    reasoning: z.string().optional(),
    toolCalls: z.array(toolCallSchema).optional(),
    /** For role `tool`: which call this answers. */
    toolCallId: z.string().optional(),
    /** Agent or tool name. */
    name: z.string().optional(),
  }),
);
export type Message = z.infer<typeof messageSchema>;

const hashes = new WeakMap<Message, string>();

/**
 * The name under which a team run stores a message: equal messages have equal names, whoever recorded them. The message
 * must not change afterwards.
 */
export function messageHash(message: Message): string {
  let key = hashes.get(message);
  if (key === undefined) {
    const { role, content, reasoning, toolCalls, toolCallId, name } = message;
    key = hash("sha256", JSON.stringify([role, content, reasoning, toolCalls, toolCallId, name])).slice(0, 24);
    hashes.set(message, key);
  }
  return key;
}
