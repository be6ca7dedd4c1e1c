/**
 * Records one exchange of an app from inside it, whichever client makes it. The record is written with the last piece of
 * the answer and without waiting, so neither `process.exit()` nor a kill right after an answer loses it. Whatever goes
 * wrong here is reported and never reaches the app.
 */
import { randomUUID } from "node:crypto";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { type Redact, redactSecrets } from "../../base/redact/redact.ts";
import { apiOf } from "../../base/wire/apis.ts";
import { readEventStream } from "../../base/wire/bedrock-converse.ts";
import { asObject, type Json, parseJson } from "../../core/json-value.ts";
import type { CallOutcome } from "../recorded-call.ts";
import { redactResponse } from "../redact-response.ts";
import { isRecorded, type WireExchange } from "../wire-exchange.ts";

export interface RecorderOptions {
  /** Writes a record at once. */
  write(exchange: WireExchange): void;
  /** The run and the agent of the code that calls, where known. */
  context(): Pick<WireExchange, "runId" | "agent"> | undefined;
  redact?: Redact;
  maxKeptBytes?: number;
  onProblem?: (error: unknown) => void;
  /** Told of traffic that looks like a model call and can't be recorded. */
  onUnrecorded?: (what: string) => void;
}

/** An exchange under way. */
export interface OpenExchange {
  /** The answer has begun. */
  head(status: number, contentType: string, contentEncoding?: string): void;
  /** A piece of the answer. */
  keep(chunk: Uint8Array): void;
  /** The answer is over; only the first call counts. */
  end(outcome: CallOutcome, error?: string): void;
}

/** The path of an address if calls to it are recorded. */
export function recordedPath(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed) return undefined;
  const path = parsed.pathname + parsed.search;
  return isRecorded(path) ? path : undefined;
}

/** Starts the record of a request with a JSON body; undefined where it is not a model call. */
export function openExchange(
  options: RecorderOptions,
  url: string,
  body: string,
  secrets: readonly string[],
): OpenExchange | undefined {
  const path = recordedPath(url);
  const request = asObject(parseJson(body));
  if (path === undefined || !request) {
    if (looksLikeCall(request)) options.onUnrecorded?.(`POST ${URL.parse(url)?.host}${URL.parse(url)?.pathname}`);
    return undefined;
  }
  const api = apiOf(path, request);
  if (!api && apiOf(path)) return undefined; // only the path looks like a call
  const startedAt = performance.timeOrigin + performance.now();
  const context = options.context() ?? {};
  const maxKeptBytes = options.maxKeptBytes ?? 64 * 2 ** 20;
  const kept: Uint8Array[] = [];
  let [size, status, contentType, contentEncoding, tail, written] = [0, 0, "", "", "", false];
  const end = (outcome: CallOutcome, error?: string) => {
    if (written) return;
    written = true;
    try {
      const answer = answerText(Buffer.concat(kept), contentType, contentEncoding);
      options.write({
        version: 1,
        id: randomUUID(),
        recorder: "preload",
        ...context,
        path: String(redactSecrets(path, secrets)),
        startedAt,
        endedAt: performance.timeOrigin + performance.now(),
        status,
        outcome: outcome === "complete" && status >= 400 ? "upstream-error" : outcome,
        ...(error !== undefined && { error: String(redactSecrets(error, secrets)) }),
        request: redactSecrets(request, secrets, options.redact),
        contentType: answer.contentType,
        response: redactResponse(api, answer.text, answer.contentType, secrets, options.redact),
        ...(size > maxKeptBytes && { truncated: true }),
      });
    } catch (problem) {
      options.onProblem?.(problem); // a full disk must not break the app
    }
  };
  return {
    end,
    head(answerStatus, type, encoding = "") {
      [status, contentType, contentEncoding] = [answerStatus, type, encoding];
    },
    keep(chunk) {
      if (size < maxKeptBytes) kept.push(chunk);
      size += chunk.length;
      if (!api || !/event-stream|ndjson/.test(contentType) || contentEncoding) return;
      const text = tail + Buffer.from(chunk).toString("latin1");
      if (api.lastEvent.test(text)) end("complete");
      tail = text.slice(-48);
    },
  };
}

/** The answer as text; Amazon's binary stream becomes lines of JSON. */
function answerText(bytes: Buffer, contentType: string, encoding: string): { text: string; contentType: string } {
  const plain = unpacked(bytes, encoding);
  if (!contentType.includes("amazon.eventstream")) return { text: plain.toString("utf8"), contentType };
  const lines = readEventStream(plain).map((event) => `${JSON.stringify(event)}\n`);
  return { text: lines.join(""), contentType: "application/x-ndjson" };
}

function unpacked(bytes: Buffer, encoding: string): Buffer {
  const limit = { maxOutputLength: 256 * 2 ** 20 };
  if (/gzip/.test(encoding)) return gunzipSync(bytes, limit);
  if (encoding === "br") return brotliDecompressSync(bytes, limit);
  if (encoding === "deflate") return inflateSync(bytes, limit);
  return encoding === "zstd" ? zstdDecompressSync(bytes, limit) : bytes;
}

/** A body that asks a model something, on a path that is not known. */
function looksLikeCall(body: Json | undefined): boolean {
  if (!body) return false;
  const asks = typeof body["model"] === "string" && (body["prompt"] ?? body["input"]) !== undefined;
  return Array.isArray(body["messages"]) || Array.isArray(body["contents"]) || asks;
}
