/** A chat model without tools as a system: what the model knows by itself, the baseline under every chain and team. */
import type { ChatModel, Price } from "../core/model.ts";
import type { System } from "../core/system.ts";
import { emptyUsage } from "../core/usage.ts";

export interface BareSystemOptions {
  name?: string;
  model: ChatModel;
  /** Said before the question. */
  instructions?: string;
  temperature?: number;
  maxTokens?: number;
  price?: Price;
  clock?: () => number;
}

/** One question, one reply; what follows the last `<answer>` is the answer, or all of it where there is none. */
export function bareSystem(options: BareSystemOptions): System {
  const { model, instructions, temperature, maxTokens, price, clock = Date.now } = options;
  return {
    name: options.name ?? model.name,
    topology: "single",
    async run(task, { seed, signal }) {
      const began = clock();
      const system = instructions === undefined ? [] : [{ role: "system" as const, content: instructions }];
      const messages = [...system, { role: "user" as const, content: task.question }];
      const reply = await model.chat({ messages, temperature, maxTokens, seed, signal });
      const { promptTokens, completionTokens, cachedTokens = 0 } = reply.usage;
      const answer =
        /<answer>([\s\S]*?)(?:<\/answer>|$)(?![\s\S]*<answer>)/.exec(reply.text)?.[1]?.trim() ?? reply.text.trim();
      const fresh = promptTokens - cachedTokens;
      const cost = price
        ? (fresh * price.input + cachedTokens * (price.cachedInput ?? price.input) + completionTokens * price.output) /
          1e6
        : 0;
      const billedTokens = promptTokens + completionTokens;
      return {
        answer: answer === "" ? null : answer,
        ending: answer === "" ? { reason: "no-answer" } : { reason: "answered" },
        usage: {
          ...emptyUsage(),
          modelCalls: 1,
          promptTokens,
          completionTokens,
          cachedTokens,
          billedTokens,
          computedTokens: billedTokens,
          costUsd: cost,
          wallMs: clock() - began,
        },
        toolCalls: {},
        tokensByRole: { prompt: promptTokens, reply: completionTokens },
      };
    },
  };
}
