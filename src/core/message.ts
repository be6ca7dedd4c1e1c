/** One chat message: shared by models, teams and recorded traffic. Tool calls keep their arguments as text. */
import { z } from "zod";

export const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Exactly what the model wrote, usually JSON; never re-serialised, so that it can be replayed byte for byte. */
  arguments: z.string(),
});
export type ToolCall = z.infer<typeof toolCallSchema>;

export const messageSchema = z.object({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
  /** Hidden reasoning that some servers return beside the content. */
  reasoning: z.string().optional(),
  toolCalls: z.array(toolCallSchema).optional(),
  /** For role `tool`: which call this answers. */
  toolCallId: z.string().optional(),
  /** Agent or tool name. */
  name: z.string().optional(),
});
export type Message = z.infer<typeof messageSchema>;
