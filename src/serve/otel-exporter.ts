/** Sends the spans of chains to an OpenTelemetry collector, in small batches: no request waits for it. */
import { messageOf } from "../core/errors.ts";
import { asArray, type Json } from "../core/json-value.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { chainSpans, type SpanOptions } from "./otel-spans.ts";

export interface ExporterOptions extends SpanOptions {
  /** The collector: `http://127.0.0.1:4318`; spans go to its `/v1/traces`. */
  url: string;
  headers?: Record<string, string>;
  /** Spans wait so long for others; 1 second by default. */
  delayMs?: number;
  /** Told what could not be sent. */
  onProblem?: (message: string) => void;
}

/** Takes chains until it is closed. */
export interface SpanExporter {
  /** `mayKeep`: false leaves its content out, whatever the exporter sends otherwise. */
  add(trajectory: Trajectory, mayKeep?: boolean): void;
  close(): Promise<void>;
}

/** Chains that wait at most; more are left out and counted, so that a dead collector fills no memory. */
const mostWaiting = 1000;

/** An exporter to one collector. */
export function openSpanExporter(options: ExporterOptions): SpanExporter {
  const { url, headers = {}, delayMs = 1000, onProblem = () => {} } = options;
  let waiting: Json[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  const send = async (batch: Json[]): Promise<void> => {
    const body = JSON.stringify({ resourceSpans: batch.flatMap((one) => asArray(one["resourceSpans"])) });
    try {
      const response = await fetch(`${url.replace(/\/+$/, "")}/v1/traces`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
        signal: AbortSignal.timeout(10_000),
      });
      if (!response.ok) onProblem(`${batch.length} chains not sent to ${url}: HTTP ${response.status}`);
    } catch (error) {
      onProblem(`${batch.length} chains not sent to ${url}: ${messageOf(error)}`);
    }
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) sending = sending.then(() => send(batch));
  };
  return {
    add(trajectory, mayKeep = true) {
      if (waiting.length >= mostWaiting) return onProblem("a chain was left out: the collector is too slow");
      waiting.push(chainSpans(trajectory, { name: options.name, content: options.content && mayKeep }));
      timer ??= setTimeout(flush, delayMs).unref();
    },
    async close() {
      flush();
      await sending;
    },
  };
}
