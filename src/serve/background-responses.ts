/**
 * Responses that continue after their client has disconnected, and after their server has been stopped or killed: what no
 * server holds any more is begun again, here or by another server. Their events are stored as they come, so that any
 * server can send them from any place on.
 */
import { refusalOf } from "../base/http/refusal.ts";
import { notice } from "../base/work/followable-log.ts";
import { asObject, type Json } from "../core/json-value.ts";
import type { PreparedResponse } from "./create-response.ts";
import type { TakenRun } from "./store/leased-runs.ts";
import type { ServeStore } from "./store/open-store.ts";

export type BackgroundResponses = ReturnType<typeof backgroundResponses>;

export interface BackgroundOptions {
  store: ServeStore;
  /** The name of the model: servers of other models leave these runs alone. */
  model: string;
  /** Whether this server has room for a run that another one left. */
  hasRoom(): boolean;
  /** Makes a response ready that was begun elsewhere. */
  prepare(run: TakenRun): Promise<PreparedResponse>;
}

const maxAttempts = 3;
const pollMs = 200;

/** Runs responses in the background, and takes over those of servers that are gone. */
export function backgroundResponses({ store, model, hasRoom, prepare }: BackgroundOptions) {
  const { runs, responses } = store;
  const held = new Map<string, { work: Promise<void>; stop: AbortController }>();
  const more = notice();
  let settling = false;

  function run(prepared: PreparedResponse, owner: string, first: number): void {
    const { id, writer } = prepared;
    const stop = new AbortController();
    let place = first;
    let full = false;
    let waiting: unknown[] = [];
    let writing: Promise<void> | undefined;
    const numbered = (event: unknown): unknown => {
      const fields = asObject(event);
      return fields ? { ...fields, sequence_number: first + Number(fields["sequence_number"]) } : event;
    };
    /** Writes what has come; what comes meanwhile is written next. */
    async function write(): Promise<void> {
      while (waiting.length > 0) {
        const [events, from] = [waiting, place];
        waiting = [];
        place += events.length;
        await runs.append(id, from, events, from === first ? writer.whole() : undefined);
        more.give();
      }
      writing = undefined;
    }
    async function work(): Promise<void> {
      const last: unknown[] = [];
      try {
        await prepared.run(stop.signal, (events) => {
          // What says that it has ended is shown when that is stored.
          const over = last.length > 0 || writer.whole()["status"] !== "in_progress";
          (over ? last : waiting).push(...events.map(numbered));
          if (!over && events.length > 0) {
            writing ??= write();
            writing.catch(() => {});
          }
          return undefined;
        });
      } catch (error) {
        const { code, message } = refusalOf(error);
        full = code === "queue_full";
        if (full || (stop.signal.aborted && settling)) return runs.release(id); // its turn comes later
        if (stop.signal.aborted) return;
        last.push(...writer.fail(code ?? "server_error", message).map(numbered));
      }
      await writing;
      await runs.end({ id, owner }, place, last, writer.whole());
    }
    const ended = work()
      .catch(() => stop.abort()) // not stored: its time runs out, and it is begun again
      .finally(() => {
        held.delete(id);
        more.give();
        if (!full) look(); // a place is free
      });
    held.set(id, { work: ended, stop });
  }

  async function tick(): Promise<void> {
    const before = [...held];
    const own = before.length > 0 ? await runs.renew() : new Set();
    for (const [id, { stop }] of before) if (!own.has(id)) stop.abort(); // deleted, cancelled, or taken by another
    const seen = new Set<string>(); // one that is refused here is not taken again at once
    while (!settling && hasRoom()) {
      const taken = await runs.take(model);
      if (!taken) return;
      if (seen.has(taken.id)) return runs.release(taken.id);
      seen.add(taken.id);
      await begin(taken);
    }
  }

  async function begin(taken: TakenRun): Promise<void> {
    const { id, owner, attempt, response, events } = taken;
    const fail = (code: string, message: string) =>
      runs.end({ id, owner }, events, [], { ...response, status: "failed", error: { code, message } });
    if (attempt > maxAttempts)
      return void (await fail("server_error", `${maxAttempts} servers stopped while they ran this response`));
    try {
      run(await prepare(taken), owner, events);
    } catch (error) {
      const { code, message } = refusalOf(error);
      await fail(code ?? "server_error", message);
    }
  }

  let ticking: Promise<void> | undefined;
  function look(): void {
    ticking ??= tick()
      .catch(() => {}) // the database is away: tried again at the next tick
      .finally(() => {
        ticking = undefined;
      });
  }
  const timer = setInterval(look, runs.leaseMs / 5).unref();

  async function* followed(id: string, from: number, signal: AbortSignal): AsyncGenerator<readonly unknown[]> {
    for (let next = from; !signal.aborted; ) {
      const { events, running } = await runs.events(id, next);
      if (events.length > 0) yield events;
      next += events.length;
      if (events.length > 0) continue;
      if (!running) return;
      await more.wait({ withinMs: pollMs, signal });
    }
  }

  return {
    async start(prepared: PreparedResponse, request: Json): Promise<void> {
      await runs.begin(prepared.stored("queued"), model, request);
      run(prepared, prepared.owner, 0);
    },
    /** Stops a response wherever it runs; undefined where there is none that still runs. */
    async cancel(id: string, owner: string): Promise<Json | undefined> {
      const stored = await responses.find(id, owner);
      if (!stored) return undefined;
      const cancelled = { ...stored.response, status: "cancelled" };
      if (!(await runs.cancel(id, owner, cancelled))) return undefined;
      held.get(id)?.stop.abort();
      await held.get(id)?.work;
      return cancelled;
    },
    /** The events of a response from a place on, to its end; undefined where none are stored. */
    async follow(id: string, from: number, signal: AbortSignal) {
      const { events, running } = await runs.events(id, 0);
      return running || events.length > 0 ? followed(id, from, signal) : undefined;
    },
    /** Waits until all that run here have ended; when the signal aborts, the others are left to the next server. */
    async settle(signal: AbortSignal): Promise<void> {
      settling = true;
      const stop = () => {
        for (const { stop } of held.values()) stop.abort();
      };
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.all([...held.values()].map(({ work }) => work));
      signal.removeEventListener("abort", stop);
      clearInterval(timer);
      await ticking;
    },
  };
}
