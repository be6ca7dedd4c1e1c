/**
 * Requests that a client may send again without having them done twice: with the same `Idempotency-Key` and the same
 * body the answer of the first is given again, by every server of the store, also while it is still being written; with
 * another body the key is refused. An answer is whole for its client only when it is kept. One that failed, or whose clients
 * all disconnected, is forgotten, so that the next try runs again.
 */

import { type Reply, replyJson, type StreamWriter } from "../base/http/handler.ts";
import { Refusal } from "../base/http/refusal.ts";
import { type FollowableLog, followableLog } from "../base/work/followable-log.ts";
import { sleep } from "../base/work/limiter.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Call, Endpoint } from "./keys.ts";
import type { KeptReplies, KeptReply } from "./store/kept-replies.ts";

const longestKey = 256;
const pollMs = 50;

/** An answer that is being written here. */
interface Recording {
  request: string;
  reply: KeptReply;
  pieces: FollowableLog<string>;
  failed: boolean;
  /** Clients that read it; when the last has left, its work is stopped. */
  readers: number;
  stop: AbortController;
}

/** Wraps an endpoint: its answers are kept under the caller, the route and the key. */
export function idempotentReplies(kept: () => Promise<KeptReplies>): (pattern: string, endpoint: Endpoint) => Endpoint {
  const here = new Map<string, Recording>();
  return (pattern, endpoint) => async (call) => {
    const { request, reply, caller } = call;
    const given = request.header("idempotency-key");
    if (given === undefined) return endpoint(call);
    if (given.length > longestKey)
      throw new Refusal(400, `an idempotency key has at most ${longestKey} characters`, { code: "invalid_value" });
    const key = [caller.owner, pattern, request.path, given].join("\n");
    const body = fingerprint(await call.bytes());
    const replies = await kept();
    for (;;) {
      const recording = here.get(key);
      const known = recording ? (recording.request === body ? "here" : "other") : await replies.claim(key, body);
      if (known === "other") {
        throw new Refusal(409, "this idempotency key was used with another request", {
          code: "idempotency_key_reused",
        });
      }
      if (known === "mine") break;
      if (known === "busy") await sleep(pollMs, request.signal);
      else if (known !== "here") return replay(known, reply);
      else if (await follow(recording!, call)) return; // where the first try failed, this one runs
    }
    const first: KeptReply = { status: 0, headers: {}, body: "", form: "text" };
    const recording: Recording = { request: body, reply: first, pieces: followableLog(), failed: false, readers: 0, stop: new AbortController() }; // biome-ignore format: one empty recording
    here.set(key, recording);
    const timer = setInterval(() => void replies.renew(key).catch(() => {}), replies.leaseMs / 3).unref();
    const { own, send } = recorded(call, recording);
    const leave = join(recording, request.signal);
    try {
      const value = await endpoint({ ...call, request: { ...request, signal: recording.stop.signal }, reply: own });
      if (value !== undefined) replyJson(own, 200, value);
      const ok = recording.reply.status < 400 && !recording.stop.signal.aborted;
      recording.failed = !ok || !(await replies.finish(key, recording.reply));
      send();
    } catch (error) {
      recording.failed = true;
      throw error;
    } finally {
      clearInterval(timer);
      leave();
      if (recording.failed) await replies.forget(key).catch(() => {});
      here.delete(key);
      recording.pieces.end();
    }
  };
}

/** Counts a client as a reader until it leaves. */
function join(recording: Recording, signal: AbortSignal): () => void {
  recording.readers++;
  const leave = () => {
    signal.removeEventListener("abort", leave);
    if (--recording.readers === 0) recording.stop.abort(signal.reason);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return () => signal.removeEventListener("abort", leave);
}

/** A reply that is recorded: its end is sent with `send`, when it is kept. */
function recorded({ reply, headers }: Call, recording: Recording): { own: Reply; send(): void } {
  const before = new Set(Object.keys(headers));
  /** Headers that the endpoint itself set go with its answer every time. */
  const added = () => Object.fromEntries(Object.entries(headers).filter(([name]) => !before.has(name)));
  let end: (() => void) | undefined;
  const own: Reply = {
    get started() {
      return end !== undefined || reply.started;
    },
    send(status, body, more) {
      const text = typeof body === "string" ? body : Buffer.from(body).toString("base64");
      const form = typeof body === "string" ? "text" : "bytes";
      recording.reply = { status, headers: { ...added(), ...more }, body: text, form };
      end = () => reply.send(status, body, more);
    },
    stream(status, more): StreamWriter {
      recording.reply = { status, headers: { ...added(), ...more }, body: "", form: "stream" };
      const writer = reply.stream(status, more);
      const decoder = new TextDecoder();
      end = () => writer.end();
      return {
        write(chunk) {
          const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
          recording.reply.body += text;
          recording.pieces.append(text);
          return writer.write(chunk);
        },
        end() {},
      };
    },
    cut: reply.cut,
  };
  return { own, send: () => end?.() };
}

const repeated = (reply: KeptReply) => ({ ...reply.headers, "idempotent-replayed": "true" });

function replay(kept: KeptReply, reply: Reply): void {
  const { status, body, form } = kept;
  if (form !== "stream") {
    reply.send(status, form === "bytes" ? Buffer.from(body, "base64") : body, repeated(kept));
    return;
  }
  const writer = reply.stream(status, repeated(kept));
  void writer.write(body);
  writer.end();
}

/** Gives an answer again as it is written; false where it failed before anything was said. */
async function follow(recording: Recording, { reply, request }: Call): Promise<boolean> {
  const leave = join(recording, request.signal);
  try {
    let writer: StreamWriter | undefined;
    // To its end, also for a client that has left: what it is told then goes nowhere.
    await recording.pieces.follow((pieces) => {
      writer ??= reply.stream(recording.reply.status, repeated(recording.reply));
      return writer.write(pieces.join(""));
    });
    if (!writer && !recording.failed) replay(recording.reply, reply);
    if (!writer) return request.signal.aborted || !recording.failed;
    if (recording.failed && !recording.stop.signal.aborted) reply.cut();
    else writer.end();
    return true;
  } finally {
    leave();
  }
}
