/** Who writes for task makers: a chat model, or a function that is given what a model would be given. */
import type { ChatModel, ChatRequest } from "../core/model.ts";

type Written = string | { text?: string };

/** Anything that can answer messages with text. */
export type Writer = Pick<ChatModel, "chat"> | ((request: ChatRequest) => Written | Promise<Written>);

/** The text that a writer answers with. */
export async function askText(writer: Writer, request: ChatRequest): Promise<string> {
  const reply = typeof writer === "function" ? await writer(request) : await writer.chat(request);
  return typeof reply === "string" ? reply : (reply.text ?? "");
}
