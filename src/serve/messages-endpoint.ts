/** Anthropic's Messages API: `POST /v1/messages`, whole or streamed, and `POST /v1/messages/count_tokens`. */

import { eventStream } from "../base/http/event-stream.ts";
import { replyJson } from "../base/http/handler.ts";
import { eventText } from "../base/http/server-events.ts";
import { anthropicMessages } from "../base/wire/anthropic-messages.ts";
import { asString, type Json, objectsOf } from "../core/json-value.ts";
import { estimateTokens } from "../core/token-estimate.ts";
import { anthropicError, apiErrorOf } from "./api-error.ts";
import { askedChain } from "./asked-chain.ts";
import type { ChainService } from "./chain-service.ts";
import { checkModel } from "./check-request.ts";
import type { Call } from "./endpoint.ts";
import { messagesProjection } from "./project/messages.ts";
import { checkFields, requestShapes } from "./request-shapes.ts";
import { settle } from "./settle.ts";

const ping = eventText('{"type": "ping"}', "ping");

/** Answers one message. */
export function messagesEndpoint(
  service: ChainService,
  options: { showTools?: boolean },
): (call: Call) => Promise<void> {
  return async ({ request, reply, caller, id, headers, json }) => {
    const body = await json();
    checkFields(requestShapes.messages, body);
    const wire = anthropicMessages.readRequest(body, request.path);
    const functions = wire.tools.filter((tool) => tool.parameters !== undefined);
    const asked = await askedChain(service, { wire, body, caller, functions, ...carriedBy(body) });
    asked.carryState = true;
    const projection = messagesProjection({
      id: `msg_${id.slice(4)}`,
      model: service.name,
      showTools: options.showTools || objectsOf(body["mcp_servers"]).length > 0,
      isTool: (role) => service.profile.tags.some((tag) => tag.name === role && tag.tool !== undefined),
      signature: asked.id,
    });
    const named = { ...headers, "request-id": id, "x-coa-trajectory": asked.id };
    const events = await service.start(asked, request.signal);
    if (!wire.stream) {
      for await (const event of events) {
        if (event.type === "end") settle([event], caller);
        projection.add(event);
      }
      replyJson(reply, 200, projection.message(), named);
      return;
    }
    const stream = eventStream(reply, named, ping);
    const write = async (all: readonly Json[]): Promise<void> => {
      for (const event of all) await stream.write(JSON.stringify(event), asString(event["type"]));
    };
    try {
      await write(projection.begin());
      for await (const event of events) {
        if (event.type === "end") settle([event], caller);
        await write(projection.add(event));
      }
    } catch (error) {
      if (!stream.opened || request.signal.aborted) throw error;
      await write([anthropicError(apiErrorOf(error))]);
    } finally {
      stream.end();
    }
  };
}

/** What messages carry besides their text: states of chains in thinking blocks, and which calls failed. */
function carriedBy(body: Json): { sealed: string[]; failed: Set<string> } {
  const blocks = objectsOf(body["messages"]).flatMap((message) => objectsOf(message["content"]));
  return {
    sealed: blocks.flatMap((block) => asString(block["signature"]) ?? asString(block["data"]) ?? []),
    failed: new Set(blocks.filter((block) => block["is_error"] === true).map((block) => String(block["tool_use_id"]))),
  };
}

/** Counts the tokens of a request: exactly where the model's tokenizer is here, by estimate otherwise. */
export function countTokensEndpoint(service: ChainService): (call: Call) => Promise<void> {
  return async ({ request, reply, headers, json }) => {
    const body = await json();
    checkFields(requestShapes.messages, body);
    const wire = anthropicMessages.readRequest(body, request.path);
    checkModel(service, wire.model);
    const count = service.model.countTokens ?? estimateTokens;
    const offered = wire.tools.map((tool) => JSON.stringify(tool));
    const tokens = [...wire.messages.map(({ content }) => content), ...offered].reduce(
      (sum, text) => sum + count(text),
      0,
    );
    replyJson(reply, 200, { input_tokens: tokens }, headers);
  };
}
