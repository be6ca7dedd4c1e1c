/**
 * Requests of one model in the order of their numbers, whatever order they arrive in: clients send the parts of a pass in
 * parallel and the first part last. A number that comes again with the same body is the same request; with another body it is refused.
 */
import { createHash } from "node:crypto";
import { Refusal } from "../../base/http/refusal.ts";

export interface OrderedRequests {
  /** Takes a request; `start` is called when all smaller numbers have been. Returns what `start` gave, now or before. */
  take(seqId: number | undefined, body: Uint8Array | string, start: () => Promise<unknown>, name: string): string;
  readonly started: number;
  /** The model is gone: what still waits for a smaller number will never be carried out. */
  close(): void;
}

/** Most requests that may wait for a smaller number, and most bytes of them. */
const maxWaiting = 10_000;
const maxWaitingBytes = 2 ** 30;

/** `register` makes a future of a request's work. */
export function orderedRequests(register: (work: Promise<never>) => string): OrderedRequests {
  const known = new Map<number, { digest: string; id: string }>();
  const waiting = new Map<number, { begin(): void; giveUp(reason: unknown): void; bytes: number }>();
  let waitingBytes = 0;
  let next = 1;
  return {
    get started() {
      return next - 1;
    },
    take(seqId, body, start, name) {
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
    close() {
      const reason = new Refusal(400, `the model was unloaded before seq_id ${next} came`);
      for (const { giveUp } of waiting.values()) giveUp(reason);
      waiting.clear();
    },
  };
}
