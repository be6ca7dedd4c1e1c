/**
 * Requests that a client may send again without having them done twice: with the same `Idempotency-Key` and the same
 * body the answer of the first is given again, also while it is still being written; with another body the key is
 * refused. An answer that failed, or whose client disconnected, is forgotten, so that the next try runs again.
 */
import { createHash } from "node:crypto";
import type { Reply, StreamWriter } from "../base/http/handler.ts";
import { steadyNow } from "../base/work/steady-clock.ts";
import { ApiError } from "./api-error.ts";

const lifeMs = 24 * 3_600_000;
const mostBytes = 64 * 2 ** 20;

interface Recording {
  body: string;
  at: number;
  bytes: number;
  status: number;
  headers: Record<string, string>;
  pieces: (string | Uint8Array)[];
  streamed: boolean;
  ended: boolean;
  failed: boolean;
  waiting: Set<() => void>;
}

/** Keeps answers by key. */
export interface IdempotentReplies {
  /** A reply that is written down while it is given, or undefined: then the earlier answer was given again. */
  record(key: string, body: Uint8Array, reply: Reply, signal: AbortSignal): Promise<RecordedReply | undefined>;
}

/** A reply that is written down. */
export interface RecordedReply {
  reply: Reply;
  /** Told when the work is done; what failed is forgotten. */
  end(ok: boolean): void;
}

/** Nothing kept yet. */
export function idempotentReplies(now: () => number = steadyNow): IdempotentReplies {
  const kept = new Map<string, Recording>();
  let bytes = 0;
  const forget = (key: string) => {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  return {
    async record(key, given, reply, signal) {
      for (const [old, { at }] of kept) {
        if (now() - at < lifeMs && bytes < mostBytes) break;
        forget(old);
      }
      const body = createHash("sha256").update(given).digest("base64url");
      const known = kept.get(key);
      if (known && known.body !== body) {
        throw new ApiError(409, "this idempotency key was used with another request", {
          code: "idempotency_key_reused",
        });
      }
      if (known) {
        if (await repeat(known, reply, signal)) return undefined;
        return this.record(key, given, reply, signal); // the first try failed: this one runs
      }
      const recording: Recording = { body, at: now(), bytes: 0, status: 0, headers: {}, pieces: [], streamed: false, ended: false, failed: false, waiting: new Set() }; // biome-ignore format: one empty recording
      kept.set(key, recording);
      const add = (piece: string | Uint8Array) => {
        recording.pieces.push(piece);
        recording.bytes += piece.length;
        if (kept.get(key) === recording) bytes += piece.length;
        wake(recording);
      };
      return {
        reply: recorded(reply, recording, add),
        end(ok) {
          recording.ended = true;
          recording.failed = !ok || recording.status >= 500 || recording.status === 429;
          if (recording.failed && kept.get(key) === recording) forget(key);
          wake(recording);
        },
      };
    },
  };
}

function wake({ waiting }: Recording): void {
  for (const go of waiting) go();
  waiting.clear();
}

function recorded(reply: Reply, recording: Recording, add: (piece: string | Uint8Array) => void): Reply {
  return {
    get started() {
      return reply.started;
    },
    send(status, body, headers) {
      Object.assign(recording, { status, headers });
      add(body);
      reply.send(status, body, headers);
    },
    stream(status, headers): StreamWriter {
      Object.assign(recording, { status, headers, streamed: true });
      const writer = reply.stream(status, headers);
      return {
        write(text) {
          add(text);
          return writer.write(text);
        },
        end: () => writer.end(),
      };
    },
  };
}

/** Gives an answer again, and follows it where it is not finished; false where it failed before anything was said. */
async function repeat(recording: Recording, reply: Reply, signal: AbortSignal): Promise<boolean> {
  const more = () =>
    new Promise<void>((resolve) => {
      recording.waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  while (recording.pieces.length === 0 && !recording.ended && !signal.aborted) await more();
  if (recording.pieces.length === 0 || (recording.failed && !recording.streamed)) return signal.aborted;
  const headers = { ...recording.headers, "idempotent-replayed": "true" };
  if (!recording.streamed) {
    reply.send(recording.status, recording.pieces[0]!, headers);
    return true;
  }
  const writer = reply.stream(recording.status, headers);
  for (let next = 0; !signal.aborted; ) {
    while (next < recording.pieces.length) await writer.write(String(recording.pieces[next++]));
    if (recording.ended) break;
    await more();
  }
  writer.end();
  return true;
}
