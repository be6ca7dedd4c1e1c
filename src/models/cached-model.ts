/**
 * Models and tools whose calls are recorded and replayed. A call is found by everything that can change its answer; who
 * asks (the session) and how it is stopped do not. Equal requests within one evaluation carry different seeds and are
 * therefore different calls.
 */
import { type CallStore, openCallStore } from "../base/files/call-store.ts";
import { type AnyModel, wrapModel } from "../base/work/wrap-model.ts";
import { CoaError } from "../core/errors.ts";
import type { ChatModel, ContinueEvent, Model } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";

/** The model with its calls kept in a store. Streams are kept whole and played back as they came. */
export function cachedModel<M extends AnyModel>(model: M, store: CallStore): M {
  return wrapModel(model, {
    async *continue(request, next) {
      const { signal, sessionKey: _session, allowedTokens: _allowed, ...asked } = request;
      const events = await store.remember(
        "continue",
        { model: model.name, ...asked },
        () => Array.fromAsync(next(request)) as Promise<ContinueEvent[]>,
      );
      for (const event of events) {
        signal?.throwIfAborted();
        yield event;
      }
    },
    async chat(request, next) {
      const { signal: _signal, onDelta, ...asked } = request;
      let heard = false;
      const reply = await store.remember("chat", { model: model.name, ...asked }, () => {
        heard = true;
        return next(request);
      });
      if (!heard && reply.text !== "") onDelta?.(reply.text);
      return reply;
    },
  });
}

/** A model that is only a file of recorded calls; `name` is the model they were recorded from. */
export async function openReplayModel(file: string, name: string): Promise<Model & ChatModel> {
  const store = await openCallStore(file, { mode: "replay" });
  const absent = (): never => {
    throw new CoaError("model", `${file} holds recorded calls only, and this call is not among them`);
  };
  const empty: Model & ChatModel = {
    name,
    capabilities: { tokens: false, grammar: "none" },
    continue: absent,
    chat: absent,
    close: () => store.close(),
  };
  return cachedModel(empty, store);
}

/** Tools whose results are kept; a stateful tool is kept per trajectory and call, because equal input means nothing there. */
export function cachedTools(tools: readonly Tool[], store: CallStore): Tool[] {
  return tools.map((tool) => {
    const calls = new Map<string, number>();
    return {
      ...tool,
      execute(input, context) {
        const trajectory = context.trajectoryId ?? "";
        const turn = (calls.get(trajectory) ?? 0) + 1;
        calls.set(trajectory, turn);
        const which = tool.stateful ? { trajectory, turn } : {};
        return store.remember("tool", { tool: tool.name, input, ...which }, async () => tool.execute(input, context));
      },
    };
  });
}
