/** One HTTP exchange with a model server, as it is in a log, and the model call that it was. */
import { z } from "zod";
import { apiOf } from "../base/wire/apis.ts";
import { fillReplyIds } from "../base/wire/call-ids.ts";
import type { Loss } from "../base/wire/wire-api.ts";
import { asObject, asText, defined } from "../core/json-value.ts";
import { readTextCall } from "./formats/text-protocols.ts";
import { readAnswer } from "./read-answer.ts";
import type { CallOutcome, RecordedCall } from "./recorded-call.ts";
import { sampledTokens } from "./sampled-tokens.ts";

/** What a recorder inside a process knows of the agent that makes a call. */
export const agentHintSchema = z.object({
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
});

export const wireExchangeSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  recorder: z.enum(["proxy", "preload"]).optional(),
  runId: z.string().optional(),
  /** The outermost call of a framework, known by a recorder inside the process. */
  scope: z.string().optional(),
  agent: agentHintSchema.optional(),
  /** The exchange whose reply the calling code had seen last, known by a recorder inside the process. */
  after: z.string().optional(),
  /** Others whose replies it had seen as well, where several flows came together. */
  joins: z.array(z.string()).optional(),
  /** The incoming request that the program was serving when it made the call, where it was. */
  root: z.string().optional(),
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

/** Under which path a recorder inside a process tells what a framework gave back. */
export const givenPath = "/coa/given";

/** Whether an exchange on this path is kept: model calls, and embeddings, so that a replay can answer them too. */
export function isRecorded(path: string): boolean {
  return apiOf(path) !== undefined || /(?:\/embeddings|\/api\/embed|:(?:batch)?[eE]mbedContents?)(?:\?|$)/.test(path);
}

const lossNotes: Record<Loss, string> = {
  media: "images, sound or files are named, not kept",
  "hosted-tool": "a tool that the server ran left no result",
  "server-history": "its history stayed on the server",
  prompt: "its prompt is not one text",
};

/** Reads the model call out of an exchange; undefined for embeddings and anything else that is not a model call. */
export function exchangeToCall(exchange: WireExchange): RecordedCall | undefined {
  const body = asObject(exchange.request) ?? {};
  if (exchange.path === givenPath) return { ...noCall(exchange), text: asText(body["text"]), given: true };
  const api = apiOf(exchange.path, body);
  if (!api) return undefined;
  const { messages, tools, lost: missing = [], ...request } = api.readRequest(body, exchange.path);
  const reply = readAnswer(api, exchange.response, exchange.contentType);
  const sampled = sampledTokens(api, exchange.response, exchange.contentType);
  const failed = exchange.status >= 400 || exchange.status === 0;
  const outcome: CallOutcome =
    exchange.outcome === "complete" && !failed && !reply.finished && !reply.error ? "unfinished" : exchange.outcome;
  const error = exchange.error ?? (failed || reply.error ? (reply.error ?? `HTTP ${exchange.status}`) : undefined);
  const lost = [...new Set([...missing, ...(reply.lost ?? [])])];
  const notes = lost.map((loss) => lossNotes[loss]);
  if (!reply.usage && !failed && outcome === "complete") notes.push("the server reported no usage");
  if (reply.others)
    notes.push("several replies were asked for; the one that a later call repeats is taken, else the first");
  const { model, stream: _stream, previousResponseId, conversation, ...settings } = request;
  return readTextCall({
    ...noCall(exchange),
    ...((reply.model || model) && { model: reply.model || model }),
    messages,
    tools,
    text: reply.text,
    ...(reply.reasoning && { reasoning: reply.reasoning }),
    toolCalls: fillReplyIds(messages, reply.toolCalls),
    ...(reply.hosted && { hosted: reply.hosted }),
    ...(reply.others && {
      others: reply.others.map((one) => ({ ...one, toolCalls: fillReplyIds(messages, one.toolCalls) })),
    }),
    ...(reply.finish && { finish: reply.finish }),
    ...(sampled && { sampled }),
    ...(Object.keys(settings).length > 0 && { settings }),
    ...reply.usage,
    ...(reply.responseId && { responseId: reply.responseId }),
    ...(previousResponseId && { previousResponseId }),
    ...(conversation && { conversation }),
    outcome,
    ...(error !== undefined ? { error } : outcome !== "complete" && { error: outcome }),
    ...(exchange.truncated && { truncated: true }),
    ...(lost.length > 0 && { lost }),
    ...(notes.length > 0 && { notes }),
  });
}

/** What an exchange says of a call without its bodies. */
function noCall({
  id,
  recorder,
  runId,
  root,
  scope,
  agent,
  after,
  joins,
  startedAt,
  endedAt,
}: WireExchange): RecordedCall {
  return {
    id,
    ...defined({ recorder, runId, root, scope, agent: agent as RecordedCall["agent"], after, joins }),
    startedAt,
    endedAt,
    messages: [],
    tools: [],
    text: "",
    toolCalls: [],
    promptTokens: 0,
    completionTokens: 0,
    outcome: "complete",
  };
}
