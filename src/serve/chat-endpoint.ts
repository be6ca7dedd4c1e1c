/** `POST /v1/chat/completions`: the chain behind OpenAI's chat API, whole or streamed. */
import { parse } from "../base/http/refusal.ts";
import { openaiChat } from "../base/wire/openai-chat.ts";
import { asObject, objectsOf } from "../core/json-value.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Endpoint } from "./keys.ts";
import { replyParts, replyStyles } from "./project/reply-parts.ts";
import { checkHosted, requestFields } from "./request-fields.ts";
import { replyOfChain, sendReply, wayHeader } from "./send-reply.ts";

export function chatEndpoint(service: ChainService): Endpoint {
  return async (call) => {
    const { request, caller, id } = call;
    const body = parse(requestFields.chat, await call.json());
    const wire = openaiChat.readRequest(body, request.path);
    checkHosted(
      service,
      objectsOf(body["tools"]).filter((tool) => (tool["type"] ?? "function") !== "function"),
    );
    const key = id.slice(4);
    const asked = await chainRequest(service, { wire, body, caller, key, functions: wire.tools });
    const writer = openaiChat.replyWriter({
      responseId: `chatcmpl-${key}`,
      model: service.name,
      created: Math.floor(Date.now() / 1000),
      streamUsage: asObject(body["stream_options"])?.["include_usage"] === true,
    });
    const chain = await service.start(asked, request.signal);
    call.headers["x-coa-trajectory"] = asked.id;
    const reply = { writer, parts: replyParts(replyStyles.chat, { key }), caller, way: wayHeader(call) };
    const how = { stream: wire.stream === true, whole: writer.whole };
    return sendReply(call, how, (emit) => replyOfChain(chain, reply, emit));
  };
}
