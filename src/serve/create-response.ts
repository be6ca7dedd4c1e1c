/**
 * One response of OpenAI's Responses API: its conversation is put together from what is stored and what comes with the
 * request, its chain is started, and its events are made. What is to be stored is on disk before the last.
 */
import { randomUUID } from "node:crypto";
import { parse, Refusal, refusalOf, stopCause } from "../base/http/refusal.ts";
import { readTools } from "../base/wire/openai-chat.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { responseWriter } from "../base/wire/write-response.ts";
import { isAbort } from "../core/errors.ts";
import { asArray, asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Caller } from "./keys.ts";
import { replyParts, replyStyles } from "./project/reply-parts.ts";
import { checkHosted, requestFields } from "./request-fields.ts";
import { type Emit, replyOfChain } from "./send-reply.ts";
import type { ResponseStore, StoredResponse } from "./store/stored-responses.ts";

export interface ResponsesOptions {
  store: ResponseStore;
  /** Show executed tools as `mcp_call` items to every client, not only to those that ask for hosted tools. */
  showTools?: boolean;
  forget?: (id: string, owner: string) => Promise<boolean>;
}

export type PreparedResponse = Awaited<ReturnType<typeof prepareResponse>>;

/** Reads a request; what can't be served is refused here, before anything runs. */
export async function prepareResponse(
  service: ChainService,
  { store, showTools }: ResponsesOptions,
  given: Json,
  caller: Caller,
  id = `resp_${randomUUID().replaceAll("-", "")}`,
) {
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
  const key = id.slice(5);
  const asked = await chainRequest(service, { wire, body, caller, key, functions, sealed, carryState });
  // A response in the background may be followed later.
  asked.stream ||= background;
  const metadata: Json = { ...asObject(body["metadata"]), coa_trajectory_id: asked.id };
  const way = (told: Record<string, string>) => {
    for (const [name, value] of Object.entries(told)) metadata[`coa_${name.replace("-", "_")}`] = value;
  };
  const writer = responseWriter({
    responseId: id,
    model: service.name,
    created: Math.floor(Date.now() / 1000),
    request: { ...body, metadata },
    ...(encrypt && { sealed: seal.close({ chain: asked.id }, caller.owner) }),
  });
  const parts = replyParts(replyStyles.responses, { key, showTools: hosted || showTools });
  const stored = (status?: string): StoredResponse => {
    const response = { ...writer.whole(), ...(status && { status }) };
    return { id, owner: caller.owner, previous: asString(body["previous_response_id"]), response, input };
  };
  const save = async (status?: string): Promise<void> => {
    if (wanted && !background) await store.save(stored(status)); // in the background it is stored from the start
  };
  /** Runs the chain and tells the events of the response; what it failed with, where it did. */
  async function run(signal: AbortSignal, emit: Emit): Promise<{ failed?: unknown }> {
    const chain = await service.start(asked, signal);
    try {
      await replyOfChain(chain, { writer, parts, caller, save, way }, emit);
      return {};
    } catch (error) {
      const failed = stopCause(signal, error);
      const left = signal.aborted && isAbort(failed);
      const { code, message } = refusalOf(failed);
      const last = left ? [] : writer.fail(code ?? "server_error", message);
      await save(left ? "cancelled" : undefined).catch(() => {}); // where that is what failed
      if (left) throw error;
      await emit(last);
      return { failed };
    }
  }
  return { id, owner: caller.owner, chain: asked.id, writer, run, stored };
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
  if (said.running)
    throw new Refusal(400, `the response ${before} is still running: continue it when it has ended`, {
      code: "previous_response_running",
      param: "previous_response_id",
    });
  return { input, conversation: [...said.items, ...input] };
}
