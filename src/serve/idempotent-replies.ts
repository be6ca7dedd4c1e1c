/**
 * Requests that a client may send again without having them done twice: with the same `Idempotency-Key` and the same
 * body the answer of the first is given again, also while it is still being written; with another body the key is
 * refused. An answer that failed, or whose client disconnected, is forgotten, so that the next try runs again.
 */

import { type Reply, type ReplyHeaders, replyJson, type StreamWriter } from "../base/http/handler.ts";
import { Refusal } from "../base/http/refusal.ts";
import { type FollowableLog, followableLog } from "../base/work/followable-log.ts";
import { steadyNow } from "../base/work/steady-clock.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Endpoint } from "./endpoint.ts";

const lifeMs = 24 * 3_600_000;
const mostBytes = 64 * 2 ** 20;
const longestKey = 256;
/** What an entry takes besides its answer. */
const entryBytes = 2048;

interface Recording {
  body: string;
  at: number;
  bytes: number;
  status: number;
  headers: ReplyHeaders;
  pieces: FollowableLog<string | Uint8Array>;
  streamed: boolean;
  failed: boolean;
}

/** Nothing kept yet. Wraps an endpoint: its answers are kept under the caller, the route and the key. */
export function idempotentReplies(now: () => number = steadyNow): (pattern: string, endpoint: Endpoint) => Endpoint {
  const kept = new Map<string, Recording>();
  let bytes = 0;
  const forget = (key: string) => {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  return (pattern, endpoint) => async (call) => {
    const { request, reply, caller } = call;
    const given = request.header("idempotency-key");
    if (given === undefined) return endpoint(call);
    if (given.length > longestKey)
      throw new Refusal(400, `an idempotency key has at most ${longestKey} characters`, { code: "invalid_value" });
    for (const [old, { at }] of kept) {
      if (now() - at < lifeMs && bytes < mostBytes) break;
      forget(old);
    }
    const key = [caller.owner, pattern, request.path, given].join("\n");
    const body = fingerprint(await call.bytes());
    for (let known = kept.get(key); known; known = kept.get(key)) {
      if (known.body !== body) {
        throw new Refusal(409, "this idempotency key was used with another request", {
          code: "idempotency_key_reused",
        });
      }
      if (await repeat(known, reply, request.signal)) return; // where the first try failed, this one runs
    }
    const recording: Recording = { body, at: now(), bytes: entryBytes, status: 0, headers: {}, pieces: followableLog(), streamed: false, failed: false }; // biome-ignore format: one empty recording
    kept.set(key, recording);
    bytes += entryBytes;
    const before = new Set(Object.keys(call.headers));
    /** Headers that the endpoint itself set go with its answer every time. */
    const added = () => Object.fromEntries(Object.entries(call.headers).filter(([name]) => !before.has(name)));
    const own = recorded(reply, recording, added, (piece) => {
      recording.bytes += piece.length;
      if (kept.get(key) === recording) bytes += piece.length;
      recording.pieces.append(piece);
    });
    let ok = false;
    try {
      const value = await endpoint({ ...call, reply: own });
      if (value !== undefined) replyJson(own, 200, value);
      ok = recording.status < 400 && !request.signal.aborted;
    } finally {
      recording.failed = !ok;
      if (!ok && kept.get(key) === recording) forget(key);
      recording.pieces.end();
    }
  };
}

function recorded(
  reply: Reply,
  recording: Recording,
  added: () => ReplyHeaders,
  add: (piece: string | Uint8Array) => void,
): Reply {
  return {
    get started() {
      return reply.started;
    },
    send(status, body, headers) {
      Object.assign(recording, { status, headers: { ...added(), ...headers } });
      add(body);
      reply.send(status, body, headers);
    },
    stream(status, headers): StreamWriter {
      Object.assign(recording, { status, headers: { ...added(), ...headers }, streamed: true });
      const writer = reply.stream(status, headers);
      return {
        write(text) {
          add(text);
          return writer.write(text);
        },
        end: () => writer.end(),
      };
    },
    cut: reply.cut,
  };
}

/** Gives an answer again, and follows it where it is not finished; false where it failed before anything was said. */
async function repeat(recording: Recording, reply: Reply, signal: AbortSignal): Promise<boolean> {
  const pieces = recording.pieces.follow(0, signal);
  const first = await pieces.next();
  if (first.done || (recording.failed && !recording.streamed)) return signal.aborted;
  const headers = { ...recording.headers, "idempotent-replayed": "true" };
  if (!recording.streamed) {
    reply.send(recording.status, first.value, headers);
    return true;
  }
  const writer = reply.stream(recording.status, headers);
  await writer.write(String(first.value));
  for await (const piece of pieces) await writer.write(String(piece));
  writer.end();
  return true;
}
