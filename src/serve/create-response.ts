/**
 * One response of OpenAI's Responses API: its conversation is put together from what is stored and what comes with the
 * request, its chain is started, and its events are made. What is to be stored is on disk before the last.
 */
import { randomUUID } from "node:crypto";
import { parse, Refusal, refusalOf } from "../base/http/refusal.ts";
import { readTools } from "../base/wire/openai-chat.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { type ResponseWriter, responseWriter } from "../base/wire/write-response.ts";
import { asArray, asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Caller } from "./keys.ts";
import { replyParts, replyStyles } from "./project/reply-parts.ts";
import { checkHosted, requestFields } from "./request-fields.ts";
import { replyEvents } from "./send-reply.ts";
import type { ResponseStore, StoredResponse } from "./store/stored-responses.ts";

export interface ResponsesOptions {
  store: ResponseStore;
  /** Show executed tools as `mcp_call` items to every client, not only to those that ask for hosted tools. */
  showTools?: boolean;
  /** Removes a kept chain. */
  forget?: (id: string, owner: string) => Promise<boolean>;
}

/** A response that can be started. */
export interface PreparedResponse {
  id: string;
  owner: string;
  /** Names the trajectory. */
  chain: string;
  writer: ResponseWriter;
  /** Runs the chain; the events of the response. What it failed with is told besides. */
  events(signal: AbortSignal, failed?: (error: unknown) => void): AsyncGenerator<unknown>;
  /** What is stored of it now. */
  stored(status?: string): StoredResponse;
}

/** Reads a request; what can't be served is refused here, before anything runs. */
export async function prepareResponse(
  service: ChainService,
  { store, showTools }: ResponsesOptions,
  given: Json,
  caller: Caller,
  id = `resp_${randomUUID().replaceAll("-", "")}`,
): Promise<PreparedResponse> {
  const body = parse(requestFields.responses, given);
  const { seal } = service.suspended;
  const { input, conversation } = await conversationOf(body, id, store, caller.owner);
  const wire = openaiResponses.readRequest({ ...body, input: conversation }, "/v1/responses");
  const tools = objectsOf(body["tools"]);
  const hosted = checkHosted(service, tools.filter((tool) => tool["type"] !== "function")); // biome-ignore format: one call
  const functions = readTools(tools.filter((tool) => tool["type"] === "function"));
  const sealed = conversation.flatMap((item) => asString(item["encrypted_content"]) ?? []);
  const background = body["background"] === true;
  const wanted = body["store"] !== false;
  const encrypt = asArray(body["include"]).includes("reasoning.encrypted_content");
  const carryState = encrypt || !wanted;
  const asked = await chainRequest(service, { wire, body, caller, functions, sealed, carryState });
  // A response in the background may be followed later.
  asked.stream ||= background;
  const writer = responseWriter({
    responseId: id,
    model: service.name,
    created: Math.floor(Date.now() / 1000),
    request: { ...body, metadata: { ...asObject(body["metadata"]), coa_trajectory_id: asked.id } },
    ...(encrypt && { sealed: seal.close({ chain: asked.id }, caller.owner) }),
  });
  const parts = replyParts(replyStyles.responses, { key: id.slice(5), showTools: hosted || showTools });
  const stored = (status?: string): StoredResponse => {
    const response = { ...writer.whole(), ...(status && { status }) };
    return { id, owner: caller.owner, previous: asString(body["previous_response_id"]), response, input };
  };
  const save = async (status?: string): Promise<void> => {
    if (wanted && !background) await store.save(stored(status)); // in the background it is stored from the start
  };
  async function* events(signal: AbortSignal, failed?: (error: unknown) => void): AsyncGenerator<unknown> {
    const chain = await service.start(asked, signal);
    try {
      yield* replyEvents(chain, { writer, parts, caller, save });
    } catch (error) {
      const refused = refusalOf(error);
      const last = signal.aborted ? [] : writer.fail(refused.code ?? "server_error", refused.message);
      await save(signal.aborted ? "cancelled" : undefined).catch(() => {}); // where that is what failed
      if (signal.aborted) throw error;
      failed?.(error);
      yield* last;
    }
  }
  return { id, owner: caller.owner, chain: asked.id, writer, events, stored };
}

/** The items of the request and of the conversation before it; references are replaced by the items that they name. */
async function conversationOf(
  body: Json,
  id: string,
  store: Pick<ResponseStore, "conversation" | "item">,
  owner: string,
): Promise<{ input: Json[]; conversation: Json[] }> {
  const given = body["input"];
  const items =
    typeof given === "string"
      ? [{ type: "message", role: "user", content: [{ type: "input_text", text: given }] }]
      : objectsOf(given);
  if (items.length === 0) throw new Refusal(400, "the request has no input", { param: "input" });
  const named = items.map(async (item, index): Promise<Json> => {
    if (item["type"] === "compaction")
      throw new Refusal(400, "compacted items are not read here: send the conversation", {
        param: `input[${index}]`,
      });
    if (item["type"] !== "item_reference") return { id: `msg_${id.slice(5)}_in${index}`, ...item };
    const found = await store.item(asString(item["id"]) ?? "", owner);
    if (!found) throw new Refusal(404, `there is no item ${JSON.stringify(item["id"])}`, { code: "item_not_found" });
    return found;
  });
  const input = await Promise.all(named);
  const before = asString(body["previous_response_id"]);
  if (before === undefined) return { input, conversation: input };
  const said = await store.conversation(before, owner);
  if (!said) {
    throw new Refusal(404, `there is no response ${before}, or a part of its conversation was deleted`, {
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
  }
  return { input, conversation: [...said, ...input] };
}
