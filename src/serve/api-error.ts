/** Refusals in the shapes that clients of each API expect, and what status and words an error of ours gets. */
import { RefusedRequest } from "../base/http/request-body.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Json } from "../core/json-value.ts";

export interface ApiErrorOptions {
  /** A stable word: `model_not_found`, `invalid_api_key`. */
  code?: string;
  /** The field of the request that is wrong. */
  param?: string;
  headers?: Record<string, string>;
}

/** A request that is refused, with everything its answer needs. */
export class ApiError extends RefusedRequest {
  readonly code: string | null;
  readonly param: string | null;

  constructor(status: number, message: string, options: ApiErrorOptions = {}) {
    super(status, message, options.headers);
    this.code = options.code ?? null;
    this.param = options.param ?? null;
  }
}

/** Any error as a refusal. An unknown error is an internal error, with its own message: the server has no other log. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RefusedRequest) return new ApiError(error.status, error.message, { headers: error.headers });
  if (error instanceof CoaError) {
    const status =
      error.boundary === "usage" || error.boundary === "format" ? 400 : error.boundary === "model" ? 502 : 500;
    return new ApiError(status, error.message, { code: error.code });
  }
  return new ApiError(500, `internal error: ${messageOf(error)}`, { code: "internal_error" });
}

const openaiTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "invalid_request_error",
  405: "invalid_request_error",
  409: "conflict_error",
  413: "invalid_request_error",
  415: "invalid_request_error",
  429: "rate_limit_error",
};

/** The error body of OpenAI's APIs. */
export function openaiError({ status, message, code, param }: ApiError): Json {
  return { error: { message, type: openaiTypes[status] ?? "server_error", param, code } };
}

const anthropicTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};

/** The error body of Anthropic's API. */
export function anthropicError({ status, message }: ApiError): Json {
  const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message } };
}
