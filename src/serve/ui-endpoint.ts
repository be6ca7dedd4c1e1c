/**
 * The AI SDK's UI message stream: `POST /api/chat` answers the newest message, `GET /api/chat/{id}/stream` resumes the
 * stream of a chat (a page that was reloaded). A chain without a reader continues for a while, then it is stopped.
 */
import { streamReply } from "../base/http/event-stream.ts";
import { Refusal, refusalOf } from "../base/http/refusal.ts";
import { followableLog } from "../base/work/followable-log.ts";
import { asArray, asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import { chainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import type { Call, Endpoint } from "./keys.ts";
import { replyEnd, servedUsage } from "./project/reply-parts.ts";
import { type Emit, eventWriter, settle } from "./send-reply.ts";
import { type ServedEvent, untold } from "./served-events.ts";

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

/**
 * A chain as the stream's parts: roles are reasoning parts, each announced by a `data-segment` with its tag; executed tools are
 * dynamic tool parts of the provider's own; the answer is text; tokens come as `data-usage`.
 */
export function uiProjection(options: { messageId: string; model: string; trajectoryId: string }) {
  const { messageId, model, trajectoryId } = options;
  let parts = 0;
  let reasoning: string | undefined;
  let answer: string | undefined;
  const answerId = `${messageId}-answer`;
  function answerDelta(delta: string): Json[] {
    if (delta === "") return [];
    const start = answer === undefined ? [{ type: "text-start", id: answerId }] : [];
    answer = (answer ?? "") + delta;
    return [...start, { type: "text-delta", id: answerId, delta }];
  }
  function closeAnswer(): Json[] {
    const open = answer !== undefined;
    answer = undefined;
    return open ? [{ type: "text-end", id: answerId }] : [];
  }
  return {
    begin: (): Json[] => [
      { type: "start", messageId, messageMetadata: { model, trajectory: trajectoryId } },
      { type: "start-step" },
    ],
    add(event: ServedEvent): Json[] {
      switch (event.type) {
        case "role-start": {
          const id = `${messageId}-${parts++}`;
          const segment = { type: "data-segment", id: `segment-${id}`, data: { tag: event.role } };
          if (event.tool) return [segment];
          reasoning = id;
          return [segment, { type: "reasoning-start", id }];
        }
        case "role-delta":
          return reasoning === undefined ? [] : [{ type: "reasoning-delta", id: reasoning, delta: event.text }];
        case "role-end": {
          const id = reasoning;
          reasoning = undefined;
          return id === undefined ? [] : [{ type: "reasoning-end", id }];
        }
        case "tool": {
          const call = { toolCallId: `${messageId}-${event.callId}`, providerExecuted: true, dynamic: true };
          const input = { type: "tool-input-available", toolName: event.tool, input: event.input ?? {}, ...call };
          const output = event.ok
            ? { type: "tool-output-available", output: event.output, ...call }
            : { type: "tool-output-error", errorText: event.output, ...call };
          return [input, output];
        }
        case "answer-delta":
          return answerDelta(event.text);
        case "answer":
          return [...answerDelta(untold(event.text, answer ?? "")), ...closeAnswer()];
        case "end": {
          const { trajectory, usage } = event;
          const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = servedUsage(event);
          const tokens = { prompt: promptTokens, completion: completionTokens, cached: cachedTokens };
          const data = { ...tokens, reasoning: reasoningTokens, toolCalls: usage.toolCalls, ending: trajectory.ending };
          const finishReason = replyEnd(event).finish === "length" ? "length" : "stop";
          return [
            ...closeAnswer(),
            { type: "data-usage", data },
            { type: "finish-step" },
            { type: "finish", finishReason },
          ];
        }
        default:
          return [];
      }
    },
    fail: (message: string): Json[] => [{ type: "error", errorText: message }],
  };
}

/** How long a chain continues without a reader. */
const unreadMs = 30_000;

interface BackgroundRun {
  readonly ended: boolean;
  /** Sends its events from the first to the last. */
  follow(signal: AbortSignal, emit: Emit): Promise<void>;
}

type BackgroundRuns = ReturnType<typeof backgroundRuns>;

/** Chains of pages. Their events are kept while they run, so that a stream can be resumed from its beginning. */
export function backgroundRuns() {
  const runs = new Map<string, BackgroundRun & { work: Promise<void>; stop(): void }>();
  return {
    find: (id: string): BackgroundRun | undefined => runs.get(id),
    /** Waits until all have ended; those that still run when the signal aborts are stopped. */
    async settle(signal: AbortSignal): Promise<void> {
      const under = [...runs.values()];
      const stop = () => under.forEach((run) => void run.stop());
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.all(under.map(({ work }) => work));
    },
    start(id: string, events: (signal: AbortSignal, emit: Emit) => Promise<void>): BackgroundRun {
      const controller = new AbortController();
      const log = followableLog<unknown>();
      let followers = 0;
      let unread: NodeJS.Timeout | undefined;
      const stop = () => controller.abort(new DOMException("cancelled", "AbortError"));
      const work = (async () => {
        await events(controller.signal, (some) => void log.append(...some));
        log.end();
        clearTimeout(unread);
      })();
      const run = {
        work,
        stop,
        get ended() {
          return log.ended;
        },
        async follow(signal: AbortSignal, emit: Emit) {
          followers++;
          clearTimeout(unread);
          try {
            await log.follow(emit, signal);
          } finally {
            if (--followers === 0 && !log.ended) unread = setTimeout(stop, unreadMs).unref();
          }
        },
      };
      runs.set(id, run);
      const forget = () => runs.get(id) === run && runs.delete(id);
      work.then(forget, forget);
      return run;
    },
  };
}
