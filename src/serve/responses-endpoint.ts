/** OpenAI's Responses API: create (whole, streamed, in the background), get, delete, cancel, list of input items. */

import { eventStream } from "../base/http/event-stream.ts";
import { replyJson } from "../base/http/handler.ts";
import { asObject, asString, type Json } from "../core/json-value.ts";
import { ApiError } from "./api-error.ts";
import type { BackgroundRuns } from "./background-runs.ts";
import type { ChainService } from "./chain-service.ts";
import { prepareResponse, type ResponsesOptions } from "./create-response.ts";
import type { Call } from "./endpoint.ts";
import type { ResponseStore } from "./stored-responses.ts";

type Work = (call: Call) => Promise<void>;

/** The routes of the API. */
export function responsesEndpoints(
  service: ChainService,
  options: ResponsesOptions,
  running: BackgroundRuns,
): Record<string, Work> {
  return {
    "POST /v1/responses": create(service, options, running),
    "GET /v1/responses/{id}": get(options.store, running),
    "DELETE /v1/responses/{id}": async ({ request, reply, caller, headers }) => {
      const id = request.params["id"]!;
      const metadata = asObject(options.store.find(id, caller.owner)?.response["metadata"]);
      if (!(await options.store.delete(id, caller.owner))) throw notFound(id);
      const chain = asString(metadata?.["coa_trajectory_id"]) ?? "";
      await (await service.suspended).delete(chain, caller.owner);
      await options.forget?.(chain, caller.owner);
      replyJson(reply, 200, { id, object: "response", deleted: true }, headers);
    },
    "POST /v1/responses/{id}/cancel": async ({ request, reply, caller, headers }) => {
      const id = request.params["id"]!;
      const live = running.find(id, caller.owner);
      if (live) {
        await live.cancel();
        replyJson(reply, 200, live.response(), headers);
        return;
      }
      if (!options.store.find(id, caller.owner)) throw notFound(id);
      throw new ApiError(400, "only a response in the background that is still running can be cancelled");
    },
    "GET /v1/responses/{id}/input_items": async ({ request, reply, caller, headers }) => {
      const stored = options.store.find(request.params["id"]!, caller.owner);
      if (!stored) throw notFound(request.params["id"]!);
      const data = request.query.get("order") === "asc" ? stored.input : [...stored.input].reverse();
      const [first, last] = [data[0]?.["id"] ?? null, data.at(-1)?.["id"] ?? null];
      replyJson(reply, 200, { object: "list", data, first_id: first, last_id: last, has_more: false }, headers);
    },
  };
}

function notFound(id: string): ApiError {
  return new ApiError(404, `there is no response ${id}`, { code: "response_not_found", param: "id" });
}

function create(service: ChainService, options: ResponsesOptions, running: BackgroundRuns): Work {
  return async ({ request, reply, caller, headers, json }) => {
    const body = await json();
    const background = body["background"] === true;
    if (background && body["store"] === false)
      throw new ApiError(400, "a response in the background must be stored", { param: "store" });
    const { id, chain, projection, events } = await prepareResponse(service, options, body, caller);
    const named = { ...headers, "x-coa-trajectory": chain };
    if (background) {
      const live = running.start(id, caller.owner, projection, events);
      if (body["stream"] !== true) return replyJson(reply, 200, { ...live.response(), status: "queued" }, named);
      return follow(live.follow(0, request.signal), eventStream(reply, named));
    }
    if (body["stream"] === true) return follow(events(request.signal), eventStream(reply, named));
    for await (const _ of events(request.signal));
    const whole = projection.response();
    const error = asObject(whole["error"]);
    if (error) {
      const code = asString(error["code"]) ?? "server_error";
      const ofModel = code === "model_failed" || code === "invalid_answer";
      throw new ApiError(ofModel ? 502 : 500, asString(error["message"]) ?? "", { code });
    }
    replyJson(reply, 200, whole, named);
  };
}

async function follow(events: AsyncIterable<Json>, stream: ReturnType<typeof eventStream>): Promise<void> {
  try {
    for await (const event of events) await stream.write(JSON.stringify(event), asString(event["type"]));
    await stream.write("[DONE]");
  } finally {
    stream.end();
  }
}

function get(store: ResponseStore, running: BackgroundRuns): Work {
  return async ({ request, reply, caller, headers }) => {
    const id = request.params["id"]!;
    const live = running.find(id, caller.owner);
    if (live && request.query.get("stream") === "true") {
      const after = Number(request.query.get("starting_after") ?? -1);
      if (!Number.isInteger(after) || after < -1)
        throw new ApiError(400, "starting_after must be the number of an event", { param: "starting_after" });
      return follow(live.follow(after + 1, request.signal), eventStream(reply, headers));
    }
    const response = live?.response() ?? store.find(id, caller.owner)?.response;
    if (!response) throw notFound(id);
    replyJson(reply, 200, response, headers);
  };
}
