/** Work that several callers ask for at the same time is done once, and all get its result. */
import { isAbort } from "../../core/errors.ts";

/** Does work under a key, or waits for the same work under way. */
export function sharedWork<T>() {
  const underWay = new Map<string, Promise<T>>();
  return function share(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const running = underWay.get(key);
    if (!running) {
      const done = work().finally(() => underWay.delete(key));
      underWay.set(key, done);
      return done;
    }
    return running.catch((error: unknown) => {
      // The caller who asked first gave up; the others still need an answer.
      if (isAbort(error) && !signal?.aborted) return share(key, work, signal);
      throw error;
    });
  };
}
