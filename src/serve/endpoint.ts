/**
 * What every endpoint has around its own work: an id, the check of who asks, counting, and errors in the shape of its
 * API, before the answer began or in the middle of a stream.
 */
import { randomUUID } from "node:crypto";
import { type AccessOptions, checkOrigin } from "../base/http/access.ts";
import { type Handler, type HttpRequest, type Reply, readJson, replyJson } from "../base/http/handler.ts";
import { isAbort } from "../core/errors.ts";
import { asObject, type Json } from "../core/json-value.ts";
import { ApiError, apiErrorOf, openaiError } from "./api-error.ts";
import type { IdempotentReplies, RecordedReply } from "./idempotent-replies.ts";
import type { Caller } from "./keys.ts";
import type { Metrics } from "./metrics.ts";

/** What endpoints share. */
export interface EndpointSetup {
  admit: (header: (name: string) => string | undefined) => Caller;
  access: AccessOptions;
  metrics: Metrics;
  maxBodyBytes: number;
  /** Answers that can be given again. */
  replies: IdempotentReplies;
  /** False while the server drains. */
  accepting: () => boolean;
}

/** A request that was admitted. */
export interface Call {
  request: HttpRequest;
  reply: Reply;
  caller: Caller;
  id: string;
  /** Headers that its answer carries. */
  headers: Record<string, string>;
  json(): Promise<Json>;
}

/** The id that an answer carries. */
export const newRequestId = (): string => `req_${randomUUID().replaceAll("-", "")}`;

/** Wraps the work of one route. `errorBody` is the error shape of its API. */
export function endpoint(
  setup: EndpointSetup,
  route: string,
  work: (call: Call) => Promise<void>,
  errorBody: (error: ApiError) => Json = openaiError,
): Handler {
  return async (request, reply) => {
    const started = performance.now();
    const id = newRequestId();
    let headers: Record<string, string> = { "x-request-id": id };
    let status = 200;
    let recorded: RecordedReply | undefined;
    try {
      checkOrigin(request.header, setup.access);
      if (!setup.accepting()) throw new ApiError(503, "the server is stopping", { headers: { "retry-after": "5" } });
      const caller = setup.admit(request.header);
      headers = { ...headers, ...caller.headers, ...corsHeaders(request, setup.access) };
      let own = request;
      const key = request.method === "POST" ? request.header("idempotency-key") : undefined;
      if (key !== undefined) {
        const bytes = await request.bytes(setup.maxBodyBytes);
        own = { ...request, bytes: async () => bytes };
        const name = [caller.owner, route, request.path, key].join("\n");
        recorded = await setup.replies.record(name, bytes, reply, request.signal);
        if (!recorded) return;
      }
      const json = async (): Promise<Json> => {
        const body = asObject(await readJson(own, setup.maxBodyBytes));
        if (!body) throw new ApiError(400, "the body must be a JSON object");
        return body;
      };
      await work({ request: own, reply: recorded?.reply ?? reply, caller, id, headers, json });
    } catch (error) {
      if (request.signal.aborted && isAbort(error)) {
        status = 499;
        return;
      }
      const refused = apiErrorOf(error);
      status = refused.status;
      replyJson(recorded?.reply ?? reply, refused.status, errorBody(refused), { ...headers, ...refused.headers });
    } finally {
      recorded?.end(status < 499 && !request.signal.aborted);
      setup.metrics.add("coa_requests_total", { route, status });
      setup.metrics.add("coa_request_seconds_total", { route }, (performance.now() - started) / 1000);
    }
  };
}

/** Headers for a web page that was allowed by name. */
export function corsHeaders(request: HttpRequest, { origins = [] }: AccessOptions): Record<string, string> {
  const origin = request.header("origin");
  if (origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "x-request-id, retry-after, x-coa-trajectory, x-ratelimit-remaining-requests",
    vary: "origin",
  };
}
