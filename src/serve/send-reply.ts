/** The end of every endpoint that answers with a reply: sent whole, or as a stream of the events that it is made of. */
import { type EventStream, type StreamOptions, streamReply } from "../base/http/event-stream.ts";
import { Refusal, withoutAddresses } from "../base/http/refusal.ts";
import { eventText } from "../base/http/server-events.ts";
import type { ReplyWriter } from "../base/wire/reply-writer.ts";
import type { Ending } from "../core/ending.ts";
import { CoaError } from "../core/errors.ts";
import { asObject, asString, defined } from "../core/json-value.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { ServedChain } from "./chain-service.ts";
import type { Call, Caller } from "./keys.ts";
import { replyEnd, type replyParts } from "./project/reply-parts.ts";
import type { ServedEnd } from "./served-events.ts";

/** Takes events as they come, without another promise for each; what it returns resolves when there is room for more. */
export type Emit = (events: readonly unknown[]) => Promise<void> | undefined;

export interface SentReply extends Omit<StreamOptions, "errorName"> {
  stream: boolean;
  /** The reply, once its events are over. */
  whole(): unknown;
  /** Events travel under the name of their type. */
  named?: boolean;
}

/** Sends a reply: its events as `work` makes them, or what it is once they are over. */
export async function sendReply(
  call: Call,
  { stream, whole, named, ...options }: SentReply,
  work: (emit: Emit) => Promise<void>,
): Promise<unknown> {
  if (stream)
    return streamReply(call, { ...options, errorName: named ? "error" : undefined }, (opened) =>
      work(eventWriter(opened, named)),
    );
  await work(() => undefined);
  return whole();
}

/** Writes events to a stream, those that come together in one piece. */
export function eventWriter(stream: EventStream, named = false): Emit {
  return (events) => {
    let text = "";
    for (const event of events) {
      const data = typeof event === "string" ? event : JSON.stringify(event);
      text += eventText(data, named ? asString(asObject(event)?.["type"]) : undefined);
    }
    return text === "" ? undefined : stream.send(text);
  };
}

/** Names in a header which way the answer came; the headers of a stream are gone by then, its reasoning names it. */
export const wayHeader =
  ({ headers }: Pick<Call, "headers">) =>
  (way: Record<string, string>): void => {
    for (const [name, value] of Object.entries(way)) headers[`x-coa-${name}`] = value;
  };

export interface ReplyOfChain {
  writer: ReplyWriter;
  parts: ReturnType<typeof replyParts>;
  caller: Caller;
  /** Called before the last events are sent. */
  save?(): Promise<void>;
  /** Called with the way that the answer came, before the last events. */
  way?(way: Record<string, string>): void;
}

/** Runs a chain as a reply and tells its events; what it used is counted for its caller. */
export async function replyOfChain(run: ServedChain, reply: ReplyOfChain, emit: Emit): Promise<void> {
  const { writer, parts, caller } = reply;
  void emit(writer.begin());
  const end = await run((served) => {
    for (const part of parts(served)) void emit(writer.add(part));
  });
  await settle(end, caller);
  const { cascade, version } = end.trajectory.served ?? {};
  reply.way?.(defined({ "answered-by": cascade?.via, version }));
  const last = writer.end(replyEnd(end));
  await reply.save?.();
  await emit(last);
}

/** Counts the chain; throws where the model behind it failed or the caller stopped it. */
export async function settle({ trajectory, usage }: ServedEnd, caller: Caller): Promise<Trajectory> {
  await caller.spend(usage);
  if (trajectory.ending.reason === "error") throw failure(trajectory.ending);
  if (trajectory.ending.reason === "aborted") throw new DOMException("the client left", "AbortError");
  return trajectory;
}

const busy: Record<string, number> = { "rate-limited": 429, overloaded: 503 };

/** What broke, without addresses of what stands behind this server: those are for the log. */
function failure({ detail = "no reason given", code = "", retryAfterMs = 1000 }: Ending): Refusal {
  const cause = new CoaError("model", detail);
  const status = busy[code];
  if (!status) {
    const message = `the model behind this server failed: ${withoutAddresses(detail)}`;
    return new Refusal(502, message, { code: code === "invalid_answer" ? code : "model_failed", cause });
  }
  const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1000)), "retry-after-ms": String(retryAfterMs) };
  const limited = status === 429 ? "rate_limit_exceeded" : "overloaded";
  return new Refusal(status, "the model behind this server is busy", { code: limited, headers, cause });
}
