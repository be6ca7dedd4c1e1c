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
import { steadyNow } from "../../base/work/steady-clock.ts";
import { asObject, defined, type Json, parseJson } from "../../core/json-value.ts";
import { fetchedId, isFinal } from "../background.ts";
import { type Budget, broughtBy, type Reservation } from "../budget.ts";
import { isOver } from "../read-answer.ts";
import { budgetRefusal, type CallOutcome } from "../recorded-call.ts";
import { redactResponse } from "../redact-response.ts";
import { isRecorded, type WireExchange } from "../wire-exchange.ts";
import { type Cause, currentCause, nextCause } from "./follow-causes.ts";
import { currentRequest } from "./follow-requests.ts";

export interface RecorderOptions {
  /** Writes a record at once. */
  write(exchange: WireExchange): void;
  /** The run of the code that calls, where it was named. */
  runOf(): string | undefined;
  redact?: Redact;
  maxKeptBytes?: number;
  /** Calls wait until it has enough left, or are refused. */
  budget?: Budget;
  onProblem?: (error: unknown) => void;
  /** Called for traffic that looks like a model call and can't be recorded. */
  onUnrecorded?: (what: string) => void;
}

/** The body to send where the budget changed it; or the body of the answer that says why the call is refused. */
export type Admitted = { body?: string } | { refused: string };

export interface OpenExchange {
  /** Its reply, for the code that comes after it; absent where it is not a model call. */
  cause?: Cause;
  /** Present where a budget holds: waits until the call may be made. */
  admit?(signal?: AbortSignal): Promise<Admitted>;
  /** The same for clients that can't be made to wait. */
  admitNow?(): Admitted;
  head(status: number, contentType: string, contentEncoding?: string): void;
  keep(chunk: Uint8Array): void;
  /** The answer is over; only the first call counts. */
  end(outcome: CallOutcome, error?: string): void;
}

/** The path of an address if calls to it are recorded. */
export function recordedPath(url: string, method = "POST"): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed) return undefined;
  const path = parsed.pathname + parsed.search;
  const fetched = fetchedId(method, path) !== undefined;
  return fetched || (method === "POST" && isRecorded(path)) ? path : undefined;
}

/** Starts the record of a request with a JSON body; undefined where it is not a model call. */
export function openExchange(
  options: RecorderOptions,
  url: string,
  body: string,
  secrets: readonly string[],
  method = "POST",
): OpenExchange | undefined {
  const path = recordedPath(url, method);
  const fetched = method === "GET";
  const request = fetched ? {} : asObject(parseJson(body));
  if (path === undefined || !request) {
    if (looksLikeCall(request)) options.onUnrecorded?.(`POST ${URL.parse(url)?.host}${URL.parse(url)?.pathname}`);
    return undefined;
  }
  const api = apiOf(path, request);
  if (!api && apiOf(path)) return undefined; // only the path looks like a call
  const startedAt = steadyNow();
  const run = defined({ runId: options.runOf() });
  const [id, before, root] = [randomUUID(), currentCause(), currentRequest()];
  const maxKeptBytes = options.maxKeptBytes ?? 64 * 2 ** 20;
  const kept: Uint8Array[] = [];
  let [size, status, contentType, contentEncoding, tail, written] = [0, 0, "", "", "", false];
  let reservation: Reservation | undefined;
  const end = (outcome: CallOutcome, error?: string) => {
    if (written) return;
    written = true;
    try {
      const answer = answerText(Buffer.concat(kept), contentType, contentEncoding);
      const ended = { outcome: status >= 400 ? ("upstream-error" as const) : outcome, contentType: answer.contentType };
      reservation?.settle(broughtBy(api, answer.text, ended));
      if (fetched && !isFinal(answer.text, answer.contentType)) return; // the client asks again
      options.write({
        version: 1,
        id,
        recorder: "preload",
        ...run,
        ...(before && { after: before.id }),
        ...(root !== undefined && { root }),
        path: String(redactSecrets(path, secrets)),
        startedAt,
        endedAt: steadyNow(),
        status,
        outcome: outcome === "complete" && status >= 400 ? "upstream-error" : outcome,
        ...(error !== undefined && { error: String(redactSecrets(error, secrets)) }),
        request: redactSecrets(request, secrets, options.redact),
        contentType: answer.contentType,
        response: redactResponse(api, answer.text, answer.contentType, secrets, options.redact),
        ...(size > maxKeptBytes && { truncated: true }),
      });
    } catch (problem) {
      reservation?.settle(undefined);
      options.onProblem?.(problem); // a full disk must not break the app
    }
  };
  const wanted = (signal?: AbortSignal) => ({
    ...run,
    ...(api && { api }),
    path,
    body: request,
    bytes: Buffer.byteLength(body),
    ...(signal && { signal }),
  });
  const admitted = (given: Reservation | { refused: string }): Admitted => {
    if ("refused" in given) {
      const message = budgetRefusal + given.refused;
      const refused = JSON.stringify({ error: { type: "coa_budget", message } });
      [status, contentType] = [402, "application/json"];
      kept.push(Buffer.from(refused));
      end("upstream-error", message);
      options.onProblem?.(message);
      return { refused };
    }
    reservation = given;
    return given.body === request ? {} : { body: JSON.stringify(given.body) };
  };
  const budget = fetched ? undefined : options.budget;
  return {
    ...(budget && {
      admit: async (signal?: AbortSignal) => admitted(await budget.admit(wanted(signal))),
      admitNow: () => admitted(budget.admitNow(wanted())),
    }),
    ...(api && { cause: nextCause(id, before) }),
    end,
    head(answerStatus, type, encoding = "") {
      [status, contentType, contentEncoding] = [answerStatus, type, encoding];
    },
    keep(chunk) {
      if (size < maxKeptBytes) kept.push(chunk);
      size += chunk.length;
      if (!api || !/event-stream|ndjson/.test(contentType) || contentEncoding) return;
      const text = tail + Buffer.from(chunk).toString("latin1");
      if (api.lastEvent.test(text) && isOver(api, Buffer.concat(kept).toString("utf8"), contentType)) end("complete");
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
