/**
 * The collector: one port that takes the traces of other systems as their exporters send them. It checks each payload,
 * writes it down without secrets and forgets it, so its memory doesn't grow with what it has seen.
 */

import { join } from "node:path";
import { openJsonl } from "../../base/files/open-jsonl.ts";
import { type AccessOptions, accessOf } from "../../base/http/access.ts";
import { type Call, faults, guarded, type Route } from "../../base/http/guard.ts";
import { jsonOf, replyJson } from "../../base/http/handler.ts";
import { listen } from "../../base/http/listen.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { headerSecrets, type Redact, redactSecrets } from "../../base/redact/redact.ts";
import { semaphore } from "../../base/work/limiter.ts";
import { logName } from "../call-log.ts";
import { langSmithToSpans, readLangSmithRuns } from "../formats/langsmith.ts";
import { agentsToSpans, readAgentsItems } from "../formats/openai-agents.ts";
import { readOtlp } from "../formats/otlp-spans.ts";
import type { TraceRecord } from "../trace-log.ts";
import { findCycle } from "../trace-span.ts";
import { decodeOtlp, decodeOtlpLogs } from "./otlp-protobuf.ts";

export interface CollectorOptions {
  folder: string;
  port?: number;
  host?: string;
  redact?: Redact;
  /** Largest body on the wire (default 32 MB) and after unpacking (default 128 MB). */
  maxBytes?: number;
  maxUnpackedBytes?: number;
  /** Keys that senders must bring; beyond this machine one is needed. */
  keys?: readonly string[];
  /** Web pages and host names that may send traces, besides this machine's own. */
  access?: AccessOptions;
  /** @internal */
  onBatch?: (batch: { format: TraceRecord["format"]; spans: number }) => void;
  onProblem?: (message: string) => void;
}

export interface Collector {
  url: string;
  close(): Promise<void>;
}

/** Only a few payloads are unpacked at a time, however many arrive. */
const unpackedAtOnce = 4;
const maxHeldBytes = 256 * 2 ** 20;

/** Starts the collector; resolves when it listens. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const { host, maxUnpackedBytes = 128 * 2 ** 20 } = options;
  const writer = await openJsonl<TraceRecord>(join(options.folder, logName("traces")), { lock: false });
  const unpacking = semaphore(unpackedAtOnce);

  /** Takes payloads of a format: `parse` reads one, `check` refuses what is not what it should be and returns its spans. */
  const take = (
    format: TraceRecord["format"],
    check: (payload: unknown) => { id: string; parentId?: string }[],
    parse: (body: Buffer, call: Call) => unknown = jsonOf,
  ): Route => {
    return async (call) => {
      await call.raw();
      const release = await unpacking.acquire();
      try {
        const payload = await parse(await call.bytes(), call);
        const spans = check(payload);
        const cycle = findCycle(spans);
        if (cycle !== undefined) throw new Refusal(400, `span ${cycle} is its own ancestor`);
        // Logs are of the whole program: those without an event of a model call are not ours to keep.
        if (spans.length > 0) {
          const secrets = headerSecrets(Object.entries(call.request.headers));
          const kept = redactSecrets(payload, secrets, options.redact);
          await writer.append({ version: 1, at: Date.now(), format, payload: kept });
        }
        options.onBatch?.({ format, spans: spans.length });
      } finally {
        release();
      }
      if (isProtobuf(call)) call.reply.send(200, "", { "content-type": "application/x-protobuf" });
      else replyJson(call.reply, format === "langsmith" ? 202 : 200, {});
    };
  };
  const langSmith = (parse?: (body: Buffer, call: Call) => unknown) =>
    take("langsmith", (payload) => langSmithToSpans(readLangSmithRuns(payload)), parse);
  const table: Record<string, Route> = {
    "GET **/info": () => ({ version: "0.10.0", batch_ingest_config: batches }),
    "POST **/v1/traces": take("otlp", readOtlp, (body, call) => (isProtobuf(call) ? decodeOtlp(body) : jsonOf(body))),
    "POST **/v1/logs": take("otlp", readOtlp, (body, call) => (isProtobuf(call) ? decodeOtlpLogs(body) : jsonOf(body))),
    "POST **/traces/ingest": take("openai-agents", (payload) => agentsToSpans(readAgentsItems(payload))),
    "POST **/runs/batch": langSmith(),
    "POST **/runs": langSmith((body) => ({ post: [jsonOf(body)] })),
    "PATCH **/runs/{id}": langSmith((body, { request }) => ({
      patch: [{ ...(jsonOf(body) as object), id: request.params["id"] }],
    })),
  };
  const served = guarded(table, {
    access: accessOf(host, options.access),
    keys: options.keys,
    maxBodyBytes: options.maxBytes ?? 32 * 2 ** 20,
    maxUnpackedBytes,
    maxHeldBytes,
    errorBody: ({ message }) => ({ error: message.slice(0, 500) }),
    ...(options.onProblem && { onRequest: faults(options.onProblem) }),
  });
  let spokeGrpc = false;
  const onHttp2 = () => {
    if (!spokeGrpc) options.onProblem?.(grpcHint);
    spokeGrpc = true;
  };
  const { origin, close } = await listen(served, { port: options.port, host, onHttp2 });
  return {
    url: origin,
    async close() {
      await close();
      await writer.close();
    },
  };
}

const grpcHint =
  "a client sent OTLP over gRPC, which is not read: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf for the program that is traced";

/** Clients that are told so send plain JSON batches instead of multipart. */
const batches = {
  use_multipart_endpoint: false,
  size_limit: 100,
  size_limit_bytes: 20 * 2 ** 20,
  scale_up_qsize_trigger: 1000,
  scale_up_nthreads_limit: 16,
  scale_down_nempty_trigger: 4,
};

function isProtobuf({ request }: Call): boolean {
  return request.header("content-type")?.includes("protobuf") ?? false;
}
