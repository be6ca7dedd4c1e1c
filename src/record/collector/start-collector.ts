/**
 * The collector: one port that takes the traces of other systems as their exporters send them. It checks each payload,
 * writes it down without secrets and forgets it, so its memory doesn't grow with what it has seen.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { type JsonlWriter, openJsonl } from "../../base/files/open-jsonl.ts";
import { type AccessOptions, accessOf, accessParts, checkOrigin } from "../../base/http/access.ts";
import { listen } from "../../base/http/listen.ts";
import {
  type BodyMeter,
  headersOf,
  RefusedRequest,
  readBytes,
  sendJson,
  unpack,
} from "../../base/http/request-body.ts";
import { headerSecrets, type Redact, redactSecrets } from "../../base/redact/redact.ts";
import { checkOptions, optionNames } from "../../base/work/check-options.ts";
import { type Limiter, semaphore } from "../../base/work/limiter.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import { logName } from "../call-log.ts";
import { langSmithToSpans, readLangSmithRuns } from "../formats/langsmith.ts";
import { agentsToSpans, readAgentsItems } from "../formats/openai-agents.ts";
import { readOtlp } from "../formats/otlp-spans.ts";
import type { TraceRecord } from "../trace-log.ts";
import { findCycle } from "../trace-span.ts";
import { readMultipartRuns } from "./multipart-runs.ts";
import { decodeOtlp } from "./otlp-protobuf.ts";

export interface CollectorOptions {
  folder: string;
  port?: number;
  host?: string;
  redact?: Redact;
  /** Largest body on the wire (default 32 MB) and after unpacking (default 128 MB). */
  maxBytes?: number;
  maxUnpackedBytes?: number;
  /** Web pages and host names that may send traces, besides this machine's own. */
  access?: AccessOptions;
  onBatch?: (batch: { format: TraceRecord["format"]; spans: number }) => void;
  onProblem?: (message: string) => void;
}

export interface Collector {
  url: string;
  close(): Promise<void>;
}

interface Setup extends CollectorOptions {
  writer: JsonlWriter<TraceRecord>;
  meter: BodyMeter;
  /** Only a few payloads are unpacked at a time, however many arrive. */
  unpacking: Limiter;
}

const unpackedAtOnce = 4;
const maxHeldBytes = 256 * 2 ** 20;

const startCollectorNames = optionNames<CollectorOptions>()(
  "folder port host redact maxBytes maxUnpackedBytes access onBatch onProblem",
);

/** Starts the collector; resolves when it listens. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  checkOptions("startCollector", options, startCollectorNames, accessParts);
  const writer = await openJsonl<TraceRecord>(join(options.folder, logName("traces")), { lock: false });
  const setup: Setup = {
    ...options,
    writer,
    meter: { held: 0, max: maxHeldBytes },
    unpacking: semaphore(unpackedAtOnce),
  };
  const { origin, close } = await listen((request, response) => handle(setup, request, response), {
    port: options.port,
    host: options.host,
    refuse: (response, error) => refuse(setup, response, error),
  });
  return {
    url: origin,
    async close() {
      await close();
      await writer.close();
    },
  };
}

async function handle(setup: Setup, request: IncomingMessage, response: ServerResponse): Promise<void> {
  checkOrigin(headersOf(request), accessOf(setup.host, setup.access));
  const path = (request.url ?? "/").split("?")[0]!.replace(/\/+$/, "");
  const { method } = request;
  if (method === "GET" && path.endsWith("/info")) {
    // Clients that are told so send plain JSON batches instead of multipart.
    const config = {
      use_multipart_endpoint: false,
      size_limit: 100,
      size_limit_bytes: 20 * 2 ** 20,
      scale_up_qsize_trigger: 1000,
      scale_up_nthreads_limit: 16,
      scale_down_nempty_trigger: 4,
    };
    return sendJson(response, 200, { version: "0.10.0", batch_ingest_config: config });
  }
  const taken = route(method, path);
  if (!taken) throw new RefusedRequest(404, `nothing is collected at ${method} ${path || "/"}`);
  const contentType = String(request.headers["content-type"] ?? "");
  const body = await readBytes(request, setup.maxBytes ?? 32 * 2 ** 20, setup.meter);
  const release = await setup.unpacking.acquire();
  try {
    await take(setup, taken, request, body, path, contentType);
  } finally {
    release();
    setup.meter.held -= body.length;
  }
  if (taken.format === "otlp" && contentType.includes("protobuf")) {
    response.writeHead(200, { "content-type": "application/x-protobuf", "content-length": 0 }).end();
  } else sendJson(response, taken.format === "langsmith" ? 202 : 200, {});
}

async function take(
  setup: Setup,
  taken: Route,
  request: IncomingMessage,
  body: Buffer,
  path: string,
  contentType: string,
): Promise<void> {
  const largest = setup.maxUnpackedBytes ?? 128 * 2 ** 20;
  const unpacked = await unpack(body, request.headers["content-encoding"], largest);
  const payload = await taken.parse(unpacked, contentType, largest, path);
  const spans = taken.check(payload);
  const cycle = findCycle(spans);
  if (cycle !== undefined) throw new RefusedRequest(400, `span ${cycle} is its own ancestor`);
  const secrets = headerSecrets(Object.entries(request.headers));
  await setup.writer.append({
    version: 1,
    at: Date.now(),
    format: taken.format,
    payload: redactSecrets(payload, secrets, setup.redact),
  });
  setup.onBatch?.({ format: taken.format, spans: spans.length });
}

interface Route {
  format: TraceRecord["format"];
  parse(body: Buffer, contentType: string, maxBytes: number, path: string): unknown;
  /** Throws where the payload is not what it should be; returns its spans. */
  check(payload: unknown): { id: string; parentId?: string }[];
}

const langSmith = {
  format: "langsmith",
  check: (payload: unknown) => langSmithToSpans(readLangSmithRuns(payload)),
} as const;

function route(method: string | undefined, path: string): Route | undefined {
  if (method === "PATCH" && /\/runs\/[\w-]+$/.test(path)) {
    return {
      ...langSmith,
      parse: (body, _type, _max, at) => ({ patch: [{ ...(json(body) as object), id: at.split("/").at(-1) }] }),
    };
  }
  if (method !== "POST") return undefined;
  if (path.endsWith("/v1/traces/ingest") || path.endsWith("/traces/ingest")) {
    return { format: "openai-agents", parse: json, check: (payload) => agentsToSpans(readAgentsItems(payload)) };
  }
  if (path.endsWith("/v1/traces")) {
    return {
      format: "otlp",
      parse: (body, type) => (type.includes("protobuf") ? decodeOtlp(body) : json(body)),
      check: readOtlp,
    };
  }
  if (path.endsWith("/runs/multipart"))
    return { ...langSmith, parse: (body, type, max) => readMultipartRuns(body, type, max) };
  if (path.endsWith("/runs/batch")) return { ...langSmith, parse: json };
  if (path.endsWith("/runs")) return { ...langSmith, parse: (body) => ({ post: [json(body)] }) };
  return undefined;
}

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new RefusedRequest(400, `the body is not JSON: ${messageOf(error).slice(0, 200)}`);
  }
}

function refuse(setup: Setup, response: ServerResponse, error: unknown): void {
  // What the formats' readers throw is the sender's mistake.
  const mistake = error instanceof CoaError && error.boundary === "record";
  const status =
    error instanceof RefusedRequest ? error.status : mistake ? 400 : error instanceof RangeError ? 400 : 500;
  if (status === 500) setup.onProblem?.(messageOf(error));
  sendJson(response, status, { error: messageOf(error).slice(0, 500) }, { connection: "close" });
}
