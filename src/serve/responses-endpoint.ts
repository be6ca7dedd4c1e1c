/** OpenAI's Responses API: create (whole, streamed, in the background), get, delete, cancel, list of input items. */

import { streamReply } from "../base/http/event-stream.ts";
import { Refusal } from "../base/http/refusal.ts";
import { asObject, asString } from "../core/json-value.ts";
import type { BackgroundResponses } from "./background-responses.ts";
import type { ChainService } from "./chain-service.ts";
import { prepareResponse, type ResponsesOptions } from "./create-response.ts";
import type { Call, Endpoint } from "./keys.ts";
import { eventWriter, sendReply } from "./send-reply.ts";
import type { ResponseStore } from "./store/stored-responses.ts";

export function responsesEndpoints(
  service: ChainService,
  options: ResponsesOptions,
  running: BackgroundResponses,
): Record<string, Endpoint> {
  const { store } = options;
  return {
    "POST /v1/responses": create(service, options, running),
    "GET /v1/responses/{id}": (call) => get(call, store, running),
    async "DELETE /v1/responses/{id}"({ request, caller }) {
      const id = request.params["id"]!;
      const metadata = asObject((await store.find(id, caller.owner))?.response["metadata"]);
      if (!(await store.delete(id, caller.owner))) throw notFound(id);
      const chain = asString(metadata?.["coa_trajectory_id"]) ?? "";
      await service.suspended.delete(chain, caller.owner);
      await options.forget?.(chain, caller.owner);
      return { id, object: "response", deleted: true };
    },
    async "POST /v1/responses/{id}/cancel"({ request, caller }) {
      const id = request.params["id"]!;
      const cancelled = await running.cancel(id, caller.owner);
      if (cancelled) return cancelled;
      if (!(await store.find(id, caller.owner))) throw notFound(id);
      throw new Refusal(400, "only a response in the background that is still running can be cancelled");
    },
    async "GET /v1/responses/{id}/input_items"({ request, caller }) {
      const stored = await store.find(request.params["id"]!, caller.owner);
      if (!stored) throw notFound(request.params["id"]!);
      const data = request.query.get("order") === "asc" ? stored.input : [...stored.input].reverse();
      const [first, last] = [data[0]?.["id"] ?? null, data.at(-1)?.["id"] ?? null];
      return { object: "list", data, first_id: first, last_id: last, has_more: false };
    },
  };
}

function notFound(id: string): Refusal {
  return new Refusal(404, `there is no response ${id}`, { code: "response_not_found", param: "id" });
}

function create(service: ChainService, options: ResponsesOptions, running: BackgroundResponses): Endpoint {
  return async (call) => {
    const { request, caller } = call;
    const body = await call.json();
    const [background, stream] = [body["background"] === true, body["stream"] === true];
    if (background && body["store"] === false)
      throw new Refusal(400, "a response in the background must be stored", { param: "store" });
    const prepared = await prepareResponse(service, options, body, caller);
    const { id, chain, writer } = prepared;
    call.headers["x-coa-trajectory"] = chain;
    if (background) {
      const queued = prepared.stored("queued").response;
      await running.start(prepared, body);
      return stream ? send(call, (await running.follow(id, 0, request.signal))!) : queued;
    }
    return sendReply(call, { stream, whole: writer.whole, named: true }, async (emit) => {
      const { failed } = await prepared.run(request.signal, emit);
      if (!stream && failed !== undefined) throw failed; // as a request is refused
    });
  };
}

const send = (call: Call, events: AsyncIterable<readonly unknown[]>): Promise<void> =>
  streamReply(call, {}, async (opened) => {
    const emit = eventWriter(opened, true);
    for await (const some of events) await emit(some);
  });

async function get(call: Call, store: ResponseStore, running: BackgroundResponses): Promise<unknown> {
  const { request, caller } = call;
  const id = request.params["id"]!;
  const stored = await store.find(id, caller.owner);
  if (!stored) throw notFound(id);
  if (request.query.get("stream") === "true") {
    const after = Number(request.query.get("starting_after") ?? -1);
    if (!Number.isInteger(after) || after < -1)
      throw new Refusal(400, "starting_after must be the number of an event", { param: "starting_after" });
    const events = await running.follow(id, after + 1, request.signal);
    if (events) return send(call, events);
  }
  return stored.response;
}
