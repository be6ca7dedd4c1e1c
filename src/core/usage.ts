/** Adding up what work cost, and its price. */
import type { CallUsage, Price, Prices } from "./model.ts";
import type { Usage } from "./usage-schema.ts";

export type { Usage };

export function emptyUsage(): Usage {
  return {
    modelCalls: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    billedTokens: 0,
    computedTokens: 0,
    toolCalls: 0,
    toolMs: 0,
    wallMs: 0,
    costUsd: 0,
  };
}

/** The sum of two usages, field by field. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = emptyUsage();
  for (const key of Object.keys(sum) as (keyof Usage)[]) sum[key] = (a[key] ?? 0) + (b[key] ?? 0);
  return sum;
}

/** What was used since an earlier count of the same work. */
export function usageSince(now: Usage, before: Usage | undefined): Usage {
  if (!before) return now;
  const rest = emptyUsage();
  for (const key of Object.keys(rest) as (keyof Usage)[]) rest[key] = (now[key] ?? 0) - (before[key] ?? 0);
  return rest;
}

/** What servers add to the name that was asked for: a provider before it, a date or a version after it. */
const aroundName = /^.*\/|(?:[-@:](?:\d{4}-?\d\d-?\d\d|\d{3,4}|\d\d-\d{4}|latest|v\d[\d:.]*))+$/g;

/** The price of a model: one for all models, or its own by name; `*` names every model that has none of its own. */
export function priceOf(prices: Prices | undefined, model: string): Price | undefined {
  if (!prices) return undefined;
  if (typeof prices.input === "number") return prices as Price;
  const named = prices as Readonly<Record<string, Price>>;
  return named[model] ?? named[model.replace(aroundName, "")] ?? named["*"];
}

/** US dollars of one call; 0 where no price is known. */
export function callCost(usage: CallUsage, price: Price | undefined): number {
  if (!price) return 0;
  const cached = usage.cachedTokens ?? 0;
  const input = (usage.promptTokens - cached) * price.input + cached * (price.cachedInput ?? price.input);
  const reasoning = Math.min(usage.reasoningTokens ?? 0, usage.completionTokens);
  const output = (usage.completionTokens - reasoning) * price.output + reasoning * (price.reasoning ?? price.output);
  return (input + output) / 1e6;
}

/** Adds one call to a sum. `seenTokens` of its prompt an earlier call had already processed: the rest is computed. */
export function addCall(usage: Usage, call: CallUsage, more: { seenTokens?: number; costUsd?: number } = {}): void {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens = 0 } = call;
  usage.modelCalls++;
  usage.promptTokens += promptTokens;
  usage.completionTokens += completionTokens;
  usage.cachedTokens += cachedTokens;
  usage.reasoningTokens += reasoningTokens;
  usage.billedTokens += promptTokens + completionTokens;
  usage.computedTokens += Math.max(0, promptTokens - (more.seenTokens ?? 0)) + completionTokens;
  usage.costUsd += more.costUsd ?? 0;
}

export function usageOfCall(call: CallUsage, price?: Price): Usage {
  const usage = emptyUsage();
  addCall(usage, call, { costUsd: callCost(call, price) });
  return usage;
}
