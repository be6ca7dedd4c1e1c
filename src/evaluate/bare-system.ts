/** A chat model without tools as a system: what the model knows by itself, the baseline under every chain and team. */

import { steadyNow } from "../base/work/steady-clock.ts";
import type { ChatModel, Price } from "../core/model.ts";
import type { System } from "../core/system.ts";
import { usageOfCall } from "../core/usage.ts";

export interface BareSystemOptions {
  name?: string;
  model: ChatModel;
  /** Said before the question. */
  instructions?: string;
  temperature?: number;
  maxTokens?: number;
  price?: Price;
  now?: () => number;
}

/** One question, one reply; what follows the last `<answer>` is the answer, or all of it where there is none. */
export function bareSystem(options: BareSystemOptions): System {
  const { model, instructions, temperature, maxTokens, price, now = steadyNow } = options;
  return {
    name: options.name ?? model.name,
    topology: "single",
    identity: { kind: "model", model: model.name, instructions, temperature, maxTokens },
    async run(task, { seed, signal }) {
      const began = now();
      const system = instructions === undefined ? [] : [{ role: "system" as const, content: instructions }];
      const messages = [...system, { role: "user" as const, content: task.question }];
      const reply = await model.chat({ messages, temperature, maxTokens, seed, signal });
      const answer =
        /<answer>([\s\S]*?)(?:<\/answer>|$)(?![\s\S]*<answer>)/.exec(reply.text)?.[1]?.trim() ?? reply.text.trim();
      return {
        answer: answer === "" ? null : answer,
        ending: answer === "" ? { reason: "no-answer" } : { reason: "answered" },
        usage: { ...usageOfCall(reply.usage, price), wallMs: now() - began },
        toolCalls: {},
        tokensByRole: { prompt: reply.usage.promptTokens, reply: reply.usage.completionTokens },
      };
    },
  };
}
