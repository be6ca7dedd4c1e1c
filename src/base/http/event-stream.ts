/** Writes a stream of server-sent events: opened with the first event, so that a refusal before it keeps its own status. */
import { isAbort } from "../../core/errors.ts";
import type { Call } from "./guard.ts";
import type { StreamWriter } from "./handler.ts";
import { stopCause } from "./refusal.ts";
import { eventText, keepAliveText } from "./server-events.ts";

const keepAliveMs = 15_000;

export interface EventStream {
  /** Sends the headers now; otherwise the first event does. */
  open(): void;
  /** Resolves when there is room for more. */
  write(data: string, name?: string): Promise<void> | undefined;
  /** The same for events that are text already. */
  send(text: string): Promise<void> | undefined;
}

export interface StreamOptions {
  headers?: Record<string, string>;
  /** Text that keeps the connection open while a chain thinks. */
  ping?: string;
  errorName?: string;
}

/** Answers with a stream: an error before its first event is a refusal, a later one is its last event. */
export async function streamReply(
  { request, reply, errorBody }: Pick<Call, "request" | "reply" | "errorBody">,
  { headers, ping = keepAliveText, errorName }: StreamOptions,
  work: (stream: EventStream) => Promise<void>,
): Promise<void> {
  let writer: StreamWriter | undefined;
  let timer: NodeJS.Timeout | undefined;
  const open = (): StreamWriter => {
    if (writer) return writer;
    writer = reply.stream(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...headers,
    });
    timer = setInterval(() => void writer!.write(ping), keepAliveMs).unref();
    return writer;
  };
  const send = (text: string) => open().write(text);
  const write = (data: string, name?: string) => send(eventText(data, name));
  try {
    await work({ open, write, send });
  } catch (error) {
    const cause = stopCause(request.signal, error);
    if (!writer || isAbort(cause)) throw error;
    await write(JSON.stringify(errorBody(cause)), errorName);
  } finally {
    clearInterval(timer);
    writer?.end();
  }
}
