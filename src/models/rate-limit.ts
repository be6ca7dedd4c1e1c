/** Models that keep within what a server allows: so many calls at once, so many per minute. */
import type { Limiter } from "../core/limiter.ts";
import type { ChatModel, Model } from "../core/model.ts";

/** A model that waits for a place before every call. */
export function limitedModel(model: Model, limiter: Limiter): Model {
  return {
    ...model,
    name: model.name,
    capabilities: model.capabilities,
    async *continue(request) {
      const release = await limiter.acquire(request.signal);
      try {
        yield* model.continue(request);
      } finally {
        release();
      }
    },
  };
}

/** A chat model that waits for a place before every call. */
export function limitedChatModel(model: ChatModel, limiter: Limiter): ChatModel {
  return {
    ...model,
    name: model.name,
    async chat(request) {
      const release = await limiter.acquire(request.signal);
      try {
        return await model.chat(request);
      } finally {
        release();
      }
    },
  };
}
