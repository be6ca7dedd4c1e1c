/**
 * Model and tool calls kept by their exact request, so that an evaluation can be run again without a network and give
 * the same results. A call is looked up by a hash of everything that can change its answer; equal requests within one
 * evaluation (samples of the same task) carry different seeds and are therefore different calls. Only calls that
 * succeeded are kept. With `only: true` nothing new is called: a missing call is an error that names it.
 */
import { createHash } from "node:crypto";
import { CoaError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import type { ChatModel, ContinueEvent, Model } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";

/** One kept call. */
export interface CachedCall {
  key: string;
  value: unknown;
}

export interface CallCache {
  /** The kept value, or what `work` returns, which is then kept. */
  remember<T>(parts: readonly unknown[], work: () => Promise<T>): Promise<T>;
  readonly hits: number;
  readonly misses: number;
  close(): Promise<void>;
}

/** A cache on a journal. */
export async function openCallCache(
  journal: Journal<CachedCall>,
  options: { only?: boolean } = {},
): Promise<CallCache> {
  const kept = new Map<string, unknown>();
  for await (const { key, value } of journal.read()) kept.set(key, value);
  const running = new Map<string, Promise<unknown>>();
  let hits = 0;
  let misses = 0;
  return {
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    close: () => journal.close(),
    async remember<T>(parts: readonly unknown[], work: () => Promise<T>): Promise<T> {
      const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
      if (kept.has(key)) {
        hits++;
        return structuredClone(kept.get(key)) as T;
      }
      if (options.only)
        throw new CoaError(
          "model",
          `no kept call for ${JSON.stringify(parts).slice(0, 160)}; run once without --cached-only`,
        );
      const shared = running.get(key);
      if (shared) return structuredClone(await shared) as T;
      misses++;
      const call = work();
      running.set(key, call);
      try {
        const value = await call;
        kept.set(key, structuredClone(value));
        await journal.append({ key, value });
        return value;
      } finally {
        running.delete(key);
      }
    },
  };
}

/** A model whose continuations are kept. Streams are kept whole and played back as they came. */
export function cachedModel(model: Model, cache: CallCache): Model {
  return {
    ...model,
    name: model.name,
    capabilities: model.capabilities,
    async *continue(request) {
      const { prompt, text, tokens, stop, maxTokens, temperature, topP, topK, seed, grammar } = request;
      const parts = [
        "continue",
        model.name,
        { prompt, text, tokens, stop, maxTokens, temperature, topP, topK, seed, grammar },
      ];
      const events = await cache.remember(
        parts,
        () => Array.fromAsync(model.continue(request)) as Promise<ContinueEvent[]>,
      );
      for (const event of events) {
        request.signal?.throwIfAborted();
        yield event;
      }
    },
  };
}

/** A chat model whose replies are kept. */
export function cachedChatModel(model: ChatModel, cache: CallCache): ChatModel {
  return {
    ...model,
    name: model.name,
    async chat(request) {
      const { messages, tools, maxTokens, temperature, seed, json } = request;
      const reply = await cache.remember(
        ["chat", model.name, { messages, tools, maxTokens, temperature, seed, json }],
        () => model.chat(request),
      );
      return reply;
    },
  };
}

/** Tools whose results are kept; a stateful tool is kept per trajectory and call, because equal input means nothing there. */
export function cachedTools(tools: readonly Tool[], cache: CallCache): Tool[] {
  return tools.map((tool) => {
    const calls = new Map<string, number>();
    return {
      ...tool,
      execute(input, context) {
        const trajectory = context.trajectoryId ?? "";
        const turn = (calls.get(trajectory) ?? 0) + 1;
        calls.set(trajectory, turn);
        const which = tool.stateful ? [trajectory, turn] : [];
        return cache.remember(["tool", tool.name, input, ...which], async () => tool.execute(input, context));
      },
    };
  });
}
