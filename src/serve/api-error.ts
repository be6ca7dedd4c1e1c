/** Refusals in the shapes that clients of each API expect. */
import type { Refusal } from "../base/http/refusal.ts";
import type { Json } from "../core/json-value.ts";

const types: Record<number, string> = { 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error" };

/** The error body of OpenAI's APIs. */
export function openaiError({ status, message, code, param }: Refusal): Json {
  const own = status === 409 ? "conflict_error" : types[status];
  return { error: { message, type: own ?? (status < 500 ? "invalid_request_error" : "server_error"), param, code } };
}

const anthropicTypes: Record<number, string> = {
  ...types,
  404: "not_found_error",
  413: "request_too_large",
  503: "overloaded_error",
};

export function anthropicError({ status, message }: Refusal): Json {
  const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message } };
}

/** Refusals before the Model Context Protocol is spoken, in its own shape. */
function mcpError({ message, status }: Refusal): Json {
  const code = { 400: -32700, 404: -32601 }[status] ?? -32000; // the body can't be read, the method is not there
  return { jsonrpc: "2.0", id: null, error: { code, message } };
}

export function apiErrorBody(refusal: Refusal, path: string): Json {
  if (path === "/mcp") return mcpError(refusal);
  return path.startsWith("/v1/messages") ? anthropicError(refusal) : openaiError(refusal);
}
