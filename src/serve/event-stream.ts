/** Writes a stream of server-sent events: opened with the first event, so that a refusal before it keeps its own status. */
import type { Reply, StreamWriter } from "../base/http/handler.ts";
import { eventText, keepAliveText } from "../base/http/server-events.ts";

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
