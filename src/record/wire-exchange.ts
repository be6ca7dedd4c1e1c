/** One HTTP exchange with a model server, as it stands in a log, and the model call that it was. */
import { z } from "zod";
import { hasMedia, readChatMessage, readResponsesInput, readTools } from "../base/wire/wire-messages.ts";
import { readReply } from "../base/wire/wire-reply.ts";
import type { Message } from "../core/message.ts";
import { asArray, asObject, asString, type CallOutcome, type RecordedCall } from "./recorded-call.ts";

export const wireExchangeSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  /** Which recorder wrote it. */
  door: z.enum(["proxy", "preload"]).optional(),
  runId: z.string().optional(),
  agent: z
    .object({
      id: z.string(),
      name: z.string().optional(),
      parent: z
        .object({
          agentId: z.string(),
          callId: z.string().optional(),
          name: z.string().optional(),
          arguments: z.string().optional(),
        })
        .optional(),
      handoffFrom: z.string().optional(),
    })
    .optional(),
  /** `/v1/chat/completions` and the like, without the run. */
  path: z.string(),
  startedAt: z.number(),
  endedAt: z.number(),
  /** HTTP status; 0 when there was no answer at all. */
  status: z.number(),
  outcome: z.enum(["complete", "upstream-error", "client-disconnect", "upstream-cut", "unfinished"]),
  error: z.string().optional(),
  request: z.unknown(),
  contentType: z.string(),
  response: z.string(),
  /** The answer was larger than the recorder keeps. */
  truncated: z.boolean().optional(),
});
export type WireExchange = z.infer<typeof wireExchangeSchema>;

/** Which dialect a path speaks; embeddings and unknown paths are no model calls. */
export function dialectOf(path: string): "chat" | "responses" | "completions" | "embeddings" | undefined {
  const end = path.split("?")[0] ?? "";
  if (end.endsWith("/chat/completions")) return "chat";
  if (end.endsWith("/responses")) return "responses";
  if (end.endsWith("/completions")) return "completions";
  return end.endsWith("/embeddings") ? "embeddings" : undefined;
}

/** Reads the model call out of an exchange; undefined for embeddings and anything else that is none. */
export function exchangeToCall(exchange: WireExchange): RecordedCall | undefined {
  const dialect = dialectOf(exchange.path);
  if (!dialect || dialect === "embeddings") return undefined;
  const body = asObject(exchange.request) ?? {};
  const reply = readReply(exchange.response, exchange.contentType);
  const failed = exchange.status >= 400 || exchange.status === 0;
  const outcome: CallOutcome =
    exchange.outcome === "complete" && !failed && !reply.finished && !reply.error ? "unfinished" : exchange.outcome;
  const error = exchange.error ?? (failed || reply.error ? (reply.error ?? `HTTP ${exchange.status}`) : undefined);
  const notes = requestNotes(body);
  const tokens = reply.promptTokens !== undefined || reply.completionTokens !== undefined;
  if (!tokens && !failed && outcome === "complete") notes.push("the server reported no usage");
  return {
    id: exchange.id,
    ...(exchange.door && { door: exchange.door }),
    ...(exchange.runId !== undefined && { runId: exchange.runId }),
    ...(exchange.agent && { agent: exchange.agent as RecordedCall["agent"] }),
    startedAt: exchange.startedAt,
    endedAt: exchange.endedAt,
    model: reply.model ?? asString(body["model"]),
    messages: requestMessages(dialect, body),
    tools: readTools(body["tools"]),
    text: reply.text,
    ...(reply.reasoning && { reasoning: reply.reasoning }),
    toolCalls: reply.toolCalls,
    promptTokens: reply.promptTokens ?? 0,
    completionTokens: reply.completionTokens ?? 0,
    ...(reply.cachedTokens !== undefined && { cachedTokens: reply.cachedTokens }),
    ...(reply.responseId && { responseId: reply.responseId }),
    ...(asString(body["previous_response_id"]) && { previousResponseId: asString(body["previous_response_id"]) }),
    outcome,
    ...(error !== undefined ? { error } : outcome !== "complete" && { error: outcome }),
    ...(exchange.truncated && { truncated: true }),
    ...(notes.length > 0 && { notes }),
  };
}

function requestMessages(dialect: "chat" | "responses" | "completions", body: Record<string, unknown>): Message[] {
  if (dialect === "responses") return readResponsesInput(body);
  if (dialect === "chat") return asArray(body["messages"]).flatMap((message) => readChatMessage(message) ?? []);
  const prompt = body["prompt"];
  const text = Array.isArray(prompt) ? prompt.filter((part) => typeof part === "string").join("") : asString(prompt);
  return [{ role: "user", content: text ?? "" }];
}

function requestNotes(body: Record<string, unknown>): string[] {
  const items = [...asArray(body["messages"]), ...asArray(body["input"])];
  return items.some((item) => hasMedia(asObject(item)?.["content"])) ? ["images or files are named, not kept"] : [];
}
