/** OpenAI's Responses API: create (whole, streamed, in the background), get, delete, cancel, list of input items. */
import { randomUUID } from "node:crypto";
import { replyJson } from "../base/http/handler.ts";
import { readTools } from "../base/wire/openai-chat.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { messageOf } from "../core/errors.ts";
import { asArray, asNumber, asObject, asString, defined, type Json, objectsOf } from "../core/json-value.ts";
import { ApiError, apiErrorOf } from "./api-error.ts";
import { askedChain } from "./asked-chain.ts";
import { type BackgroundRuns, backgroundRuns } from "./background-runs.ts";
import type { ChainRequest } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import { checkFormat } from "./check-request.ts";
import type { Call } from "./endpoint.ts";
import { eventStream } from "./event-stream.ts";
import { type ResponsesProjection, responsesProjection } from "./project/responses.ts";
import { settle } from "./settle.ts";
import type { ResponseStore } from "./stored-responses.ts";

export interface ResponsesOptions {
  store: ResponseStore;
  /** Show executed tools as `mcp_call` items to everybody, not only to those who ask for hosted tools. */
  showTools?: boolean;
}

type Work = (call: Call) => Promise<void>;

/** The routes of the API. */
export function responsesEndpoints(service: ChainService, options: ResponsesOptions): Record<string, Work> {
  const running = backgroundRuns();
  return {
    "POST /v1/responses": create(service, options, running),
    "GET /v1/responses/{id}": get(options.store, running),
    "DELETE /v1/responses/{id}": async ({ request, reply, caller, headers }) => {
      const id = request.params["id"]!;
      const metadata = asObject(options.store.find(id, caller.owner)?.response["metadata"]);
      if (!(await options.store.delete(id, caller.owner))) throw notFound(id);
      await (await service.suspended).delete(asString(metadata?.["coa_trajectory_id"]) ?? "", caller.owner);
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

function create(service: ChainService, { store, showTools }: ResponsesOptions, running: BackgroundRuns): Work {
  return async ({ request, reply, caller, headers, json }) => {
    const body = await json();
    const id = `resp_${randomUUID().replaceAll("-", "")}`;
    const { input, conversation } = conversationOf(body, id, store, caller.owner);
    const wire = openaiResponses.readRequest({ ...body, input: conversation }, request.path);
    const hosted = objectsOf(body["tools"]).some((tool) => tool["type"] === "mcp" || tool["type"] === "web_search");
    checkFormat(body);
    const functions = readTools(objectsOf(body["tools"]).filter((tool) => tool["type"] === "function"));
    const sealed = conversation.flatMap((item) => asString(item["encrypted_content"]) ?? []);
    const asked = await askedChain(service, { wire, body, caller, functions, sealed });
    const wanted = body["store"] !== false;
    const encrypt = asArray(body["include"]).includes("reasoning.encrypted_content");
    asked.carryState = encrypt || !wanted;
    const { seal } = await service.suspended;
    const background = body["background"] === true;
    if (background && !wanted)
      throw new ApiError(400, "a response in the background must be stored", { param: "store" });
    const projection = responsesProjection({
      id,
      model: service.name,
      created: Math.floor(Date.now() / 1000),
      echo: echoOf(body, wanted, asked.id),
      hostedTools: hosted || showTools,
      isTool: (role) => service.profile.tags.some((tag) => tag.name === role && tag.tool !== undefined),
      ...(encrypt && { encrypted: seal.close({ chain: asked.id }, caller.owner) }),
    });
    const save = async (response: Json): Promise<void> => {
      const own = objectsOf(response["output"]);
      const stored = { id, caller: caller.owner, at: Date.now(), response, input };
      await store.save({ ...stored, conversation: [...conversation, ...own] });
    };
    const events = (signal: AbortSignal) => projected({ service, asked, signal, projection, caller, save, wanted });
    const named = { ...headers, "x-coa-trajectory": asked.id };
    if (background) {
      const live = running.start(id, caller.owner, projection, events);
      if (body["stream"] !== true) return replyJson(reply, 200, { ...live.response(), status: "queued" }, named);
      return follow(live.follow(0, request.signal), eventStream(reply, named));
    }
    if (body["stream"] === true) return follow(events(request.signal), eventStream(reply, named));
    for await (const _ of events(request.signal));
    const whole = projection.response();
    const error = asObject(whole["error"]);
    if (error) throw new ApiError(502, asString(error["message"]) ?? "", { code: asString(error["code"]) });
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

interface ProjectedChain {
  service: ChainService;
  asked: ChainRequest;
  signal: AbortSignal;
  projection: ResponsesProjection;
  caller: Call["caller"];
  save(response: Json): Promise<void>;
  wanted: boolean;
}

/** The events of one response. What is stored is on disk before the last event goes out. */
async function* projected(chain: ProjectedChain): AsyncGenerator<Json> {
  const { projection, caller, signal } = chain;
  const events = await chain.service.start(chain.asked, signal);
  yield* projection.begin();
  try {
    for await (const event of events) {
      if (event.type === "end") settle([event], caller);
      const wire = projection.add(event);
      if (event.type === "end" && chain.wanted) await chain.save(projection.response());
      yield* wire;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const refused = apiErrorOf(error);
    yield* projection.fail(refused.code ?? "server_error", messageOf(refused));
  }
}

function get(store: ResponseStore, running: BackgroundRuns): Work {
  return async ({ request, reply, caller, headers }) => {
    const id = request.params["id"]!;
    const live = running.find(id, caller.owner);
    if (live && request.query.get("stream") === "true") {
      const after = Number(request.query.get("starting_after") ?? -1);
      return follow(live.follow(after + 1, request.signal), eventStream(reply, headers));
    }
    const response = live?.response() ?? store.find(id, caller.owner)?.response;
    if (!response) throw notFound(id);
    replyJson(reply, 200, response, headers);
  };
}

/** The items of the request and of the conversation before it; references are replaced by what they stand for. */
function conversationOf(
  body: Json,
  id: string,
  store: ResponseStore,
  caller: string,
): { input: Json[]; conversation: Json[] } {
  const given = body["input"];
  const items =
    typeof given === "string"
      ? [{ type: "message", role: "user", content: [{ type: "input_text", text: given }] }]
      : objectsOf(given);
  if (items.length === 0) throw new ApiError(400, "the request has no input", { param: "input" });
  const input = items.map((item, index) => {
    if (item["type"] !== "item_reference") return { id: `msg_${id.slice(5)}_in${index}`, ...item };
    const found = store.item(asString(item["id"]) ?? "", caller);
    if (!found) throw new ApiError(404, `there is no item ${String(item["id"])}`, { code: "item_not_found" });
    return found;
  });
  const before = asString(body["previous_response_id"]);
  if (before === undefined) return { input, conversation: input };
  const previous = store.find(before, caller);
  if (!previous) {
    throw new ApiError(404, `there is no response ${before}`, {
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
  }
  return { input, conversation: [...previous.conversation, ...input] };
}

/** What the request set, as the API repeats it. */
function echoOf(body: Json, store: boolean, trajectoryId: string): Json {
  return {
    ...defined({
      previous_response_id: asString(body["previous_response_id"]),
      instructions: asString(body["instructions"]),
      tools: body["tools"],
      tool_choice: body["tool_choice"],
      truncation: asString(body["truncation"]),
      parallel_tool_calls: body["parallel_tool_calls"],
      text: body["text"],
      top_p: asNumber(body["top_p"]),
      temperature: asNumber(body["temperature"]),
      reasoning: body["reasoning"],
      max_output_tokens: asNumber(body["max_output_tokens"]),
      max_tool_calls: asNumber(body["max_tool_calls"]),
      service_tier: asString(body["service_tier"]),
      safety_identifier: asString(body["safety_identifier"]),
      prompt_cache_key: asString(body["prompt_cache_key"]),
    }),
    store,
    background: body["background"] === true,
    metadata: { ...asObject(body["metadata"]), coa_trajectory_id: trajectoryId },
  };
}
