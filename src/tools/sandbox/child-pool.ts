/**
 * Warm children and who may use them. With `isolation: "trajectory"` a child belongs to one session key from its first
 * run to its end and a run without a key gets a child of its own; with `"run"` a few children are shared by everybody
 * and it is up to the child to clean up after each run. In both cases a few are kept started, those that end are
 * replaced, and there are never more than `most`.
 */
import { CoaError } from "../../core/errors.ts";
import { whenThereIsRoom } from "./launch.ts";
import type { LineChild } from "./line-child.ts";

type AnyChild = Pick<LineChild<never, unknown>, "kill" | "exited" | "alive">;

const startTries = 3;

interface Session<Child> {
  child?: Child;
  turn: Promise<unknown>;
  waiting: number;
}

/** Makes a pool over `start`. */
export function childPool<Child extends AnyChild>(options: {
  start: () => Promise<Child>;
  isolation: "trajectory" | "run";
  /** Children kept ready; in `run` isolation the number of shared children. */
  warm: number;
  most: number;
}) {
  const { start, isolation, warm } = options;
  const most = isolation === "run" ? warm : options.most;
  const ready: Promise<Child>[] = [];
  const starting = new Set<Promise<Child>>();
  const everyone = new Set<Child>();
  const sessions = new Map<string, Session<Child>>(); // in order of use, the oldest first
  const queue: (() => void)[] = [];
  let taken = 0;
  let diedUnused = 0; // since the last use
  let closed = false;

  function begin(): Promise<Child> {
    const forget = (): boolean => {
      const at = ready.indexOf(begun);
      if (at >= 0) ready.splice(at, 1);
      return at >= 0;
    };
    const begun = whenThereIsRoom(start).then((child) => {
      everyone.add(child);
      if (closed) child.kill();
      void child.exited.then(() => {
        everyone.delete(child);
        if (forget() && ++diedUnused <= startTries) fill();
      });
      return child;
    });
    starting.add(begun);
    begun.catch(forget).finally(() => starting.delete(begun));
    return begun;
  }

  function fill(): void {
    const wanted = isolation === "run" ? warm - taken : warm;
    while (!closed && ready.length < wanted) ready.push(begin());
  }

  function refuseIfClosed(): void {
    if (closed) throw new CoaError("sandbox", "the sandbox was closed before this run could start");
  }

  async function take(): Promise<Child> {
    for (let failures = 0; ; ) {
      refuseIfClosed();
      try {
        const child = await (ready.shift() ?? begin());
        diedUnused = 0;
        if (child.alive) return child;
      } catch (error) {
        // It may have been killed while it started; what can't start at all fails again at once.
        if (++failures === startTries) throw error;
      }
    }
  }

  async function enter(): Promise<void> {
    refuseIfClosed();
    if (taken < most) {
      taken++;
      return;
    }
    for (const [key, session] of sessions) {
      if (session.waiting > 0) continue;
      endSession(key);
      break;
    }
    await new Promise<void>((resolve) => queue.push(resolve));
  }

  function leave(): void {
    const next = queue.shift();
    if (next) next();
    else taken--;
  }

  function endSession(sessionKey: string): void {
    const session = sessions.get(sessionKey);
    if (!session) return;
    sessions.delete(sessionKey);
    void session.turn.then(() => {
      session.child?.kill();
      leave();
    });
    if (session.waiting === 0) session.child?.kill();
  }

  async function once<T>(work: (child: Child) => Promise<{ result: T; keep: boolean }>): Promise<T> {
    await enter();
    try {
      const child = await take();
      let keep = false;
      try {
        const done = await work(child);
        keep = done.keep && isolation === "run" && child.alive && !closed;
        return done.result;
      } finally {
        if (keep) ready.push(Promise.resolve(child));
        else child.kill();
      }
    } finally {
      leave();
      fill();
    }
  }

  async function inSession<T>(key: string, work: (child: Child) => Promise<{ result: T; keep: boolean }>): Promise<T> {
    let session = sessions.get(key);
    const fresh = session === undefined;
    if (!session) session = { turn: Promise.resolve(), waiting: 0 };
    const mine = session;
    sessions.delete(key);
    sessions.set(key, mine);
    mine.waiting++;
    const turn = mine.turn.then(async () => {
      if (fresh) await enter();
      try {
        if (!mine.child?.alive) {
          mine.child = await take();
          fill();
        }
        const done = await work(mine.child);
        if (!done.keep) mine.child.kill();
        return done.result;
      } finally {
        mine.waiting--;
        // Another session waits and this one is idle: its child ends.
        if (queue.length > 0 && mine.waiting === 0 && sessions.get(key) === mine) queueMicrotask(() => endSession(key));
      }
    });
    mine.turn = turn.catch(() => {});
    return turn;
  }

  return {
    /** Runs `work` with a child; `keep: false` ends the child afterwards. */
    use: <T>(key: string | undefined, work: (child: Child) => Promise<{ result: T; keep: boolean }>) =>
      isolation === "run" || key === undefined ? once(work) : inSession(key, work),
    endSession,
    /** Starts the warm children now and waits for them. */
    async warmUp() {
      fill();
      await Promise.all(ready);
    },
    async close() {
      closed = true;
      sessions.clear();
      const awake = setInterval(() => {}, 1_000); // idle children do not hold our process, but their end is awaited
      for (const child of everyone) child.kill();
      for (const next of queue.splice(0)) next(); // they find the pool closed
      await Promise.allSettled(starting);
      await Promise.all([...everyone].map((child) => child.exited));
      clearInterval(awake);
    },
  };
}
