/**
 * Which model reply the code that runs now came after. The storage of an async function keeps what was known when it
 * began to wait; what it waited for was settled later, by code that may have seen a reply meanwhile. V8 tells when each
 * promise settles and which function continues from it, so the reply is passed on with the value: a request made after
 * a reply, however many libraries lie between, names that reply. That keeps identical tasks apart which one process
 * runs at the same time.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { promiseHooks } from "node:v8";

/** A reply, and the one before it in the same flow. */
export interface Cause {
  /** The id of the exchange that brought the reply. */
  id: string;
  before: Cause | undefined;
  depth: number;
}

/** One storage for the whole process, however often this module is loaded. */
const key = Symbol.for("chain-of-agents.cause");
const holder = globalThis as unknown as Record<symbol, AsyncLocalStorage<Cause | undefined> | undefined>;
const storage = (holder[key] ??= new AsyncLocalStorage<Cause | undefined>());

/** The last reply that the running code came after. */
export function currentCause(): Cause | undefined {
  return storage.getStore();
}

/** The reply to a request that was made after `before`. */
export function nextCause(id: string, before: Cause | undefined): Cause {
  return { id, before, depth: (before?.depth ?? 0) + 1 };
}

/** From here on the running function comes after this reply. */
export function enterCause(cause: Cause): void {
  storage.enterWith(cause);
}

/** Runs code that a reply calls: an event of its answer. */
export function afterCause<T>(cause: Cause, work: () => T): T {
  return storage.run(cause, work);
}

/** Starts following; costs some hundred nanoseconds for each promise of the process. */
export function followCauses(): void {
  const parents = new WeakMap<object, object>();
  const settled = new WeakMap<object, Cause>();
  promiseHooks.createHook({
    init(promise: object, parent: object | undefined) {
      if (parent) parents.set(promise, parent);
    },
    before(promise: object) {
      const parent = parents.get(promise);
      const told = parent && settled.get(parent);
      if (!told) return;
      const own = storage.getStore();
      if (told !== own && comesAfter(told, own)) storage.enterWith(told);
    },
    after() {},
    settled(promise: object) {
      const cause = storage.getStore();
      if (cause) settled.set(promise, cause);
    },
  });
}

/** A promise that another flow settled (a shared cache, a pool of connections) changes nothing. */
function comesAfter(later: Cause, earlier: Cause | undefined): boolean {
  if (!earlier) return true;
  let at: Cause | undefined = later;
  while (at && at.depth > earlier.depth) at = at.before;
  return at === earlier;
}
