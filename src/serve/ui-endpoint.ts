/**
 * The AI SDK's UI message stream: `POST /api/chat` answers the newest message, `GET /api/chat/{id}/stream` resumes the
 * stream of a chat (a page that was reloaded). A chain without a reader continues for a while, then it is stopped.
 */

import { streamReply } from "../base/http/event-stream.ts";
import { Refusal, refusalOf } from "../base/http/refusal.ts";
import { asArray, asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { BackgroundRun, BackgroundRuns } from "./background-runs.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Call, Endpoint } from "./endpoint.ts";
import { uiProjection } from "./project/ui.ts";
import { type Emit, eventWriter } from "./send-reply.ts";
import { settle } from "./settle.ts";

/** Chats of two keys may have the same id. */
const keyOf = (chat: string, { owner }: Call["caller"]) => `${owner}\n${chat}`;

export function uiEndpoints(service: ChainService, runs: BackgroundRuns): Record<string, Endpoint> {
  function follow(run: BackgroundRun, call: Call): Promise<void> {
    const { signal } = call.request;
    return streamReply(call, { headers: { "x-vercel-ai-ui-message-stream": "v1" } }, async (stream) => {
      stream.open();
      await run.follow(signal, eventWriter(stream));
      if (!run.ended) await stream.write('{"type":"abort"}'); // the server stops
      await stream.write("[DONE]");
    });
  }

  return {
    async "POST /api/chat"(call) {
      const body = await call.json();
      const chat = asString(body["id"]) ?? call.id;
      const { messages, media } = uiMessages(body);
      const lost = media ? { lost: ["media" as const] } : {};
      const wire = { model: asString(body["model"]), messages, tools: [], stream: true, ...lost };
      const key = call.id.slice(4);
      const asked = await chainRequest(service, { wire, body, caller: call.caller, key });
      const messageId = `msg_${key}`;
      const projection = uiProjection({ messageId, model: service.name, trajectoryId: asked.id });
      async function parts(signal: AbortSignal, emit: Emit): Promise<void> {
        try {
          const chain = await service.start(asked, signal);
          void emit(projection.begin());
          const end = await chain((event) => void emit(projection.add(event)));
          await settle(end, call.caller);
          void emit(projection.add(end));
        } catch (error) {
          void emit(signal.aborted ? [{ type: "abort" }] : projection.fail(refusalOf(error).message));
        }
      }
      call.headers["x-coa-trajectory"] = asked.id;
      await follow(runs.start(keyOf(chat, call.caller), parts), call);
    },
    async "GET /api/chat/{id}/stream"(call) {
      const run = runs.find(keyOf(call.request.params["id"]!, call.caller));
      if (!run) return call.reply.send(204, "", call.headers);
      await follow(run, call);
    },
  };
}

/** The messages of the page as messages of a chat: texts of each, in order. */
function uiMessages(body: Json): { messages: Message[]; media: boolean } {
  const given = asArray(body["messages"]);
  if (given.length === 0) throw new Refusal(400, "the request has no messages", { param: "messages" });
  let media = false;
  const messages = given.flatMap((one): Message[] => {
    const message = asObject(one) ?? {};
    const role = asString(message["role"]);
    const parts = objectsOf(message["parts"]);
    media ||= parts.some((part) => part["type"] === "file");
    const texts = parts.flatMap((part) => (part["type"] === "text" ? [asString(part["text"]) ?? ""] : []));
    const content = parts.length > 0 ? texts.join("") : (asString(message["content"]) ?? "");
    return role === "user" || role === "assistant" || role === "system" ? [{ role, content }] : [];
  });
  return { messages, media };
}
