/**
 * Spans of requests through `@opentelemetry/api`, where the host has it: its SDK chooses what is exported and where to. A span
 * continues the trace that its request names (`traceparent`), is active while the request runs, so that what the host
 * instruments belongs to it, and has what the chain used.
 */
import { packageVersion } from "../base/files/package-version.ts";
import { statusOf } from "../base/http/refusal.ts";
import { defined } from "../core/json-value.ts";
import type { Call, Endpoint } from "./keys.ts";

const [serverKind, failedStatus] = [1, 2];
let loading: Promise<typeof import("@opentelemetry/api") | undefined> | undefined;

/** The endpoint with a span around each request; as it is where the package is not installed. */
export function withSpans(pattern: string, model: string, endpoint: Endpoint): Endpoint {
  const [method, route] = pattern.split(" ");
  return async (call) => {
    const name = "@opentelemetry/api";
    const api = await (loading ??= import(name).catch(() => undefined));
    if (!api) return endpoint(call);
    const { context, propagation, trace } = api;
    const { request, caller, headers, id } = call;
    const from = propagation.extract(context.active(), request.headers);
    const attributes = {
      "http.request.method": method,
      "http.route": route,
      "gen_ai.request.model": model,
      "coa.request_id": id,
      "coa.key": caller.name,
    };
    const span = trace
      .getTracer("chain-of-agents", packageVersion())
      .startSpan(pattern, { kind: serverKind, attributes }, from);
    let status = 200;
    const failed = (error: unknown) => {
      status = statusOf(error);
      if (status >= 500) span.setStatus({ code: failedStatus });
    };
    const watched: Call = {
      ...call,
      errorBody(error) {
        failed(error); // in a stream, whose status is sent
        return call.errorBody(error);
      },
    };
    try {
      return await context.with(trace.setSpan(from, span), () => endpoint(watched));
    } catch (error) {
      failed(error);
      throw error;
    } finally {
      const { used } = caller;
      span.setAttributes(
        defined({
          "http.response.status_code": status,
          "coa.chain": headers["x-coa-trajectory"],
          "gen_ai.usage.input_tokens": used?.promptTokens,
          "gen_ai.usage.output_tokens": used?.completionTokens,
        }),
      );
      span.end();
    }
  };
}
