/** `POST /v1/chat/completions`: the chain behind OpenAI's chat API, whole or streamed. */

import { eventStream } from "../base/http/event-stream.ts";
import { replyJson } from "../base/http/handler.ts";
import { openaiChat } from "../base/wire/openai-chat.ts";
import { asObject } from "../core/json-value.ts";
import { apiErrorOf, openaiError } from "./api-error.ts";
import { askedChain } from "./asked-chain.ts";
import type { ChainService } from "./chain-service.ts";
import type { Call } from "./endpoint.ts";
import { chatChunks, chatCompletion } from "./project/chat.ts";
import { checkFields, requestShapes } from "./request-shapes.ts";
import type { ServedEvent } from "./served-events.ts";
import { settle } from "./settle.ts";

export interface ChatEndpointOptions {
  /** Show what tools returned among the reasoning. */
  observations?: boolean;
}

/** Answers one chat completion. */
export function chatEndpoint(service: ChainService, options: ChatEndpointOptions): (call: Call) => Promise<void> {
  return async ({ request, reply, caller, id, headers, json }) => {
    const body = await json();
    checkFields(requestShapes.chat, body);
    const wire = openaiChat.readRequest(body, request.path);
    const asked = await askedChain(service, { wire, body, caller, functions: wire.tools });
    const projection = {
      id: `chatcmpl-${id.slice(4)}`,
      model: service.name,
      created: Math.floor(Date.now() / 1000),
      includeUsage: asObject(body["stream_options"])?.["include_usage"] === true,
      observations: options.observations,
    };
    const named = { ...headers, "x-coa-trajectory": asked.id };
    const events = await service.start(asked, request.signal);
    if (!wire.stream) {
      const all: ServedEvent[] = await Array.fromAsync(events);
      settle(all, caller);
      replyJson(reply, 200, chatCompletion(all, projection), named);
      return;
    }
    const stream = eventStream(reply, named);
    try {
      const project = chatChunks(projection);
      for await (const event of events) {
        if (event.type === "end") settle([event], caller);
        for (const chunk of project(event)) {
          const full = stream.write(JSON.stringify(chunk));
          if (full) await full;
        }
      }
      await stream.write("[DONE]");
    } catch (error) {
      if (!stream.opened || request.signal.aborted) throw error;
      await stream.write(JSON.stringify(openaiError(apiErrorOf(error))));
    } finally {
      stream.end();
    }
  };
}
