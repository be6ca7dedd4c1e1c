/** Writes a stream of server-sent events: opened with the first event, so that a refusal before it keeps its own status. */
import type { Call } from "./guard.ts";
import type { Reply, StreamWriter } from "./handler.ts";
import { eventText, keepAliveText } from "./server-events.ts";

const keepAliveMs = 15_000;

/** Writes events; `write` resolves when there is room for more. */
export interface EventStream {
  readonly opened: boolean;
  open(): void;
  write(data: string, name?: string): Promise<void> | undefined;
  end(): void;
}

/** An event stream over a reply. `ping` is the text that keeps the connection open while a chain thinks. */
export function eventStream(reply: Reply, headers: Record<string, string>, ping = keepAliveText): EventStream {
  let writer: StreamWriter | undefined;
  let timer: NodeJS.Timeout | undefined;
  const open = (): StreamWriter => {
    if (writer) return writer;
    const opened = reply.stream(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...headers,
    });
    timer = setInterval(() => void opened.write(ping), keepAliveMs);
    timer.unref();
    writer = opened;
    return opened;
  };
  return {
    get opened() {
      return writer !== undefined;
    },
    open: () => void open(),
    write: (data, name) => open().write(eventText(data, name)),
    end() {
      clearInterval(timer);
      writer?.end();
    },
  };
}

export interface StreamOptions {
  headers?: Record<string, string>;
  /** Text that keeps the connection open. */
  ping?: string;
  /** Name of the event that tells of an error. */
  errorName?: string;
}

/** Answers with a stream: an error before its first event is a refusal, a later one is its last event. */
export async function streamReply(
  { request, reply, errorBody }: Pick<Call, "request" | "reply" | "errorBody">,
  { headers = {}, ping, errorName }: StreamOptions,
  work: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const stream = eventStream(reply, headers, ping);
  try {
    await work(stream);
  } catch (error) {
    if (!stream.opened || request.signal.aborted) throw error;
    await stream.write(JSON.stringify(errorBody(error)), errorName);
  } finally {
    stream.end();
  }
}
