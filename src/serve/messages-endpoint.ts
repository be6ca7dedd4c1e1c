/** Anthropic's Messages API: `POST /v1/messages`, whole or streamed, and `POST /v1/messages/count_tokens`. */

import { estimateTokens } from "../base/count/token-estimate.ts";
import { parse } from "../base/http/refusal.ts";
import { eventText } from "../base/http/server-events.ts";
import { anthropicMessages } from "../base/wire/anthropic-messages.ts";
import type { WireApi } from "../base/wire/wire-api.ts";
import { asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Endpoint } from "./keys.ts";
import { replyParts, replyStyles } from "./project/reply-parts.ts";
import { checkHosted, checkModel, requestFields } from "./request-fields.ts";
import { replyOfChain, sendReply, wayHeader } from "./send-reply.ts";

const ping = eventText('{"type": "ping"}', "ping");

export function messagesEndpoint(service: ChainService, options: { showTools?: boolean }): Endpoint {
  return async (call) => {
    const { request, caller, id } = call;
    const body = parse(requestFields.messages, await call.json());
    const wire = anthropicMessages.readRequest(body, request.path);
    const functions = wire.tools.filter((tool) => tool.parameters !== undefined);
    checkHosted(service, objectsOf(body["tools"]).filter((tool) => tool["input_schema"] === undefined && (tool["type"] ?? "custom") !== "custom")); // biome-ignore format: one condition
    // Clients that did not ask for thinking read the first block as the answer.
    const thinks = /^(?:enabled|adaptive)$/.test(asString(asObject(body["thinking"])?.["type"]) ?? "");
    const key = id.slice(4);
    const carried = { ...carriedBy(body), carryState: thinks };
    const asked = await chainRequest(service, { wire, body, caller, key, functions, ...carried });
    // Clients send thinking back with a signature: blocks need one, whether or not it holds a state.
    const facts = { responseId: `msg_${key}`, model: service.name, sealed: asked.id };
    const writer = anthropicMessages.replyWriter(facts);
    const showTools = options.showTools || objectsOf(body["mcp_servers"]).length > 0;
    const all = replyParts(replyStyles.messages, { key, showTools });
    const parts: typeof all = (event) => all(event).filter(({ type }) => thinks || type !== "reasoning");
    const chain = await service.start(asked, request.signal);
    Object.assign(call.headers, { "request-id": id, "x-coa-trajectory": asked.id });
    const reply = { writer, parts, caller, way: wayHeader(call) };
    const how = { stream: wire.stream === true, whole: writer.whole, named: true, ping };
    return sendReply(call, how, (emit) => replyOfChain(chain, reply, emit));
  };
}

/** What messages carry besides their text: states of chains in thinking blocks, and which calls failed. */
function carriedBy(body: Json): { sealed: string[]; failed: Set<string> } {
  const blocks = objectsOf(body["messages"]).flatMap((message) => objectsOf(message["content"]));
  return {
    sealed: blocks.flatMap((block) => asString(block["signature"]) ?? asString(block["data"]) ?? []),
    failed: new Set(
      blocks.filter((block) => block["is_error"] === true).map((block) => asString(block["tool_use_id"]) ?? ""),
    ),
  };
}

/** Counts the tokens of a request: exactly where the model's tokenizer is here, by estimate otherwise. */
export function countTokensEndpoint(service: ChainService, api: WireApi = anthropicMessages): Endpoint {
  return async ({ request, json }) => {
    const fields = api === anthropicMessages ? requestFields.messages : requestFields.responses;
    const wire = api.readRequest(parse<Json>(fields, await json()), request.path);
    checkModel(service, wire.model);
    const count = service.model.countTokens ?? estimateTokens;
    const texts = [...wire.messages.map(({ content }) => content), ...wire.tools.map((tool) => JSON.stringify(tool))];
    const tokens = texts.reduce((sum, text) => sum + count(text), 0);
    return { ...(api !== anthropicMessages && { object: "response.input_tokens" }), input_tokens: tokens };
  };
}
