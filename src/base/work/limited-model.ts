/** A model that keeps within what a server allows: so many calls at once, so many per minute. */
import type { Limiter } from "./limiter.ts";
import { type AnyModel, wrapModel } from "./wrap-model.ts";

/** The model, waiting for a place before every call. */
export function limitedModel<M extends AnyModel>(model: M, limiter: Limiter): M {
  return wrapModel(model, {
    async *continue(request, next) {
      const release = await limiter.acquire(request.signal);
      try {
        yield* next(request);
      } finally {
        release();
      }
    },
    async chat(request, next) {
      const release = await limiter.acquire(request.signal);
      try {
        return await next(request);
      } finally {
        release();
      }
    },
  });
}
