/**
 * Operations that are answered later: each has a number, is asked for by it, and its result stays for ten minutes after
 * it was read, or as long as the results that were read fit a limit. What is never asked for is deleted as well, so that a
 * server that runs for weeks does not fill its memory.
 */
import { createHash } from "node:crypto";
import { Refusal } from "../../base/http/refusal.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { within } from "../../base/work/within.ts";
import { messageOf } from "../../core/errors.ts";

/** How an operation ended: a value to be written as JSON or as protobuf, or what went wrong and whose fault it is. */
export type Outcome =
  | { json: unknown; bytes?: () => Uint8Array /** What it holds in memory. */; size?: number }
  | { error: string; category: "user" | "server" };

const keepReadMs = 10 * 60_000;
const keepUnreadMs = 60 * 60_000;
/** Bytes of results that were read and are kept in case the answer was lost. */
const keepReadBytes = 256e6;

/** An empty set of futures. */
export function futures(now: () => number = steadyNow) {
  const all = new Map<string, { done: Promise<Outcome>; expires: number }>();
  const read = new Map<string, number>(); // bytes of each result that was read, the latest last
  let next = 1;
  const forget = () => {
    for (const [id, { expires }] of all) if (expires < now()) drop(id);
    let held = 0;
    for (const [id, size] of [...read].reverse()) {
      held += size;
      if (held > keepReadBytes) drop(id);
    }
  };
  const drop = (id: string) => {
    all.delete(id);
    read.delete(id);
  };
  return {
    /** Takes an operation under way; returns its number. */
    add(work: Promise<Outcome>): string {
      forget();
      const id = String(next++);
      const entry = { done: work.catch(failure), expires: Number.POSITIVE_INFINITY };
      void entry.done.then(() => {
        entry.expires = Math.min(entry.expires, now() + keepUnreadMs);
      });
      all.set(id, entry);
      return id;
    },
    /** The outcome, or null when it is not there after `holdMs`; undefined for a number never given. */
    async wait(id: string, holdMs: number, signal?: AbortSignal): Promise<Outcome | null | undefined> {
      const entry = all.get(id);
      if (!entry) return undefined;
      const outcome = (await within(holdMs, entry.done, signal)) ?? null;
      if (outcome) {
        entry.expires = now() + keepReadMs;
        read.delete(id);
        if ("size" in outcome && outcome.size) read.set(id, outcome.size);
      }
      return outcome;
    },
  };
}

function failure(error: unknown): Outcome {
  const boundary = (error as { boundary?: string } | undefined)?.boundary;
  const refused = error instanceof Refusal && error.status < 500;
  const category = refused || boundary === "usage" || boundary === "format" ? "user" : "server";
  return { error: messageOf(error), category };
}

export type OrderedRequests = ReturnType<typeof orderedRequests>;

/** Most requests that may wait for a smaller number, and most bytes of them. */
const maxWaiting = 10_000;
const maxWaitingBytes = 2 ** 30;

/** `register` makes a future of a request's work. */
export function orderedRequests(register: (work: Promise<never>) => string) {
  const known = new Map<number, { digest: string; id: string }>();
  const waiting = new Map<number, { begin(): void; giveUp(reason: unknown): void; bytes: number }>();
  let waitingBytes = 0;
  let next = 1;
  return {
    get started(): number {
      return next - 1;
    },
    /** Takes a request; `start` is called when all smaller numbers have been. Returns what `start` gave, now or before. */
    take(seqId: number | undefined, body: Uint8Array | string, start: () => Promise<unknown>, name: string): string {
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      const begin = () => void start().then(resolve as (value: unknown) => void, reject);
      if (seqId === undefined) {
        const id = register(promise);
        begin();
        return id;
      }
      const digest = createHash("sha256").update(name).update(body).digest("base64");
      const before = known.get(seqId);
      if (before?.digest === digest) return before.id;
      if (before || seqId < next) throw new Refusal(409, `seq_id ${seqId} was used for another request`);
      if (waiting.size >= maxWaiting || (seqId > next && waitingBytes + body.length > maxWaitingBytes))
        throw new Refusal(429, "too many requests wait for a smaller seq_id");
      const id = register(promise);
      known.set(seqId, { digest, id });
      known.delete(seqId - maxWaiting);
      waiting.set(seqId, { begin, giveUp: reject, bytes: body.length });
      waitingBytes += body.length;
      for (let ready = waiting.get(next); ready; ready = waiting.get(next)) {
        waiting.delete(next);
        waitingBytes -= ready.bytes;
        next++;
        ready.begin();
      }
      return id;
    },
    /** The model is gone: what still waits for a smaller number will never be carried out. */
    close(): void {
      const reason = new Refusal(400, `the model was unloaded before seq_id ${next} came`);
      for (const { giveUp } of waiting.values()) giveUp(reason);
      waiting.clear();
    },
  };
}
