/**
 * A model around another: what the wrapper does not change is the wrapped model's own, asked for when it is needed. So a
 * context window, a grammar or a name that the model learns in `prepare` is known through every wrapper, and so are its
 * tokenizer, its sessions and whatever models learn to offer later.
 */
import type { ChatModel, ChatReply, ChatRequest, ContinueEvent, ContinueRequest, Model } from "../../core/model.ts";
import type { Limiter } from "./limiter.ts";

/** What a wrapper does around the two calls of a model (`next` makes the call itself), and to what it can do. */
export interface ModelWrapper {
  continue?(
    request: ContinueRequest,
    next: (request: ContinueRequest) => AsyncIterable<ContinueEvent>,
  ): AsyncIterable<ContinueEvent>;
  chat?(request: ChatRequest, next: (request: ChatRequest) => Promise<ChatReply>): Promise<ChatReply>;
  /** What the wrapped model can do, from what it says of itself now. */
  capabilities?(own: Model["capabilities"]): Model["capabilities"];
}

/** Anything with a name that continues chains, chats, or does both. */
export type AnyModel = Pick<Model, "name"> & Partial<Model> & Partial<ChatModel>;

/** The model with its calls wrapped; a call that the model does not have stays absent. */
export function wrapModel<M extends AnyModel>(model: M, wrapper: ModelWrapper): M {
  const calls = {
    ...(wrapper.continue && {
      continue: (request: ContinueRequest) => wrapper.continue!(request, (one) => model.continue!(one)),
    }),
    ...(wrapper.chat && { chat: (request: ChatRequest) => wrapper.chat!(request, (one) => model.chat!(one)) }),
  };
  const bound = new Map<PropertyKey, { value: unknown; call: unknown }>();
  // The target inherits from the model, so that a frozen model can be wrapped too.
  return new Proxy(Object.create(model) as M, {
    get(_target, key) {
      const value: unknown = Reflect.get(model, key, model);
      if (key === "capabilities" && wrapper.capabilities && model.capabilities)
        return wrapper.capabilities(model.capabilities);
      if (typeof value !== "function") return value;
      if (Object.hasOwn(calls, key)) return calls[key as keyof typeof calls];
      const known = bound.get(key);
      if (known?.value === value) return known.call;
      const call: unknown = value.bind(model);
      bound.set(key, { value, call });
      return call;
    },
  });
}

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
