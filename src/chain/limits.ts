/**
 * Limits are exact and asked before a call, never noticed after it. A part of the budget, the reserve, is kept back so
 * that a chain which runs out can still be asked for its answer.
 */

import type { LimitName } from "../core/chain-record.ts";
import { UsageError } from "../core/errors.ts";
import type { Price } from "../core/model.ts";
import type { Usage } from "../core/usage.ts";

export interface Limits {
  /** Model calls, the one that asks for the answer included. */
  maxSteps: number;
  maxToolCalls: number;
  maxTokensPerCall: number;
  /** Tokens the model may write in all. */
  maxCompletionTokens: number;
  /** Prompt and completion tokens of all calls together, as billed. */
  maxTotalTokens: number;
  maxWallMs: number;
  maxCostUsd: number;
  /** Tokens kept back for the final answer; 0 means: never ask. */
  answerReserve: number;
  toolTimeoutMs: number;
  /** Refused moves in a row before the runtime accepts the move. */
  maxRepairs: number;
}

export const defaultLimits: Limits = {
  maxSteps: 24,
  maxToolCalls: 64,
  maxTokensPerCall: 4096,
  maxCompletionTokens: 32_768,
  maxTotalTokens: Number.POSITIVE_INFINITY,
  maxWallMs: Number.POSITIVE_INFINITY,
  maxCostUsd: Number.POSITIVE_INFINITY,
  answerReserve: 512,
  toolTimeoutMs: 60_000,
  maxRepairs: 3,
};

/**
 * The limits with defaults for those that are absent or `undefined`; a value that is not a number of at least 0 is
 * refused.
 */
export function withDefaults(limits: Partial<Limits> = {}, base: Partial<Limits> = {}): Limits {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (typeof value !== "number" || !(value >= 0))
      throw new UsageError(`limits.${name} is ${value}: it must be 0 or more`);
  }
  return { ...defaultLimits, ...base, ...Object.fromEntries(given) };
}

/** What the next model call may be: an ordinary one, the request for the answer, or none. */
export type CallPlan =
  | { kind: "ordinary"; maxTokens: number; limit: LimitName | null }
  | { kind: "final"; maxTokens: number; limit: LimitName }
  | { kind: "none"; limit: LimitName };

export interface CallBudget {
  limits: Limits;
  usage: Usage;
  /** Tokens of the context that the next call would send. */
  contextTokens: number;
  contextWindow: number;
  /** Tokens that one more observation may have, roughly. */
  observationTokens: number;
  elapsedMs: number;
  price: Price | undefined;
}

/** Decides, before anything is sent, how many tokens the next call may write, or that it may not be made. */
export function planCall(budget: CallBudget): CallPlan {
  const { limits, usage, contextTokens, contextWindow, elapsedMs, price } = budget;
  if (usage.modelCalls >= limits.maxSteps) return { kind: "none", limit: "steps" };
  if (elapsedMs >= limits.maxWallMs) return { kind: "none", limit: "wall-time" };
  const reserve = limits.answerReserve;
  const smallestCall = reserve > 0 ? 8 : 1; // no answer fits into fewer tokens
  const later = contextTokens + (reserve > 0 ? budget.observationTokens + 64 : 0); // context of the call for the answer
  const input = (price?.input ?? 0) / 1e6;
  const output = (price?.output ?? 0) / 1e6;
  const completion = limits.maxCompletionTokens - usage.completionTokens;
  const window = contextWindow - contextTokens;
  const total = limits.maxTotalTokens - usage.billedTokens - contextTokens;
  const headroom: [LimitName, final: number, ordinary: number][] = [
    ["completion-tokens", completion, completion - reserve],
    ["context", window, window - (reserve > 0 ? reserve + 64 : 0)],
    ["total-tokens", total, reserve > 0 ? (total - later - reserve) / 2 : total],
  ];
  if (Number.isFinite(limits.maxCostUsd)) {
    const money = limits.maxCostUsd - usage.costUsd - contextTokens * input;
    const kept = reserve > 0 ? later * input + reserve * output : 0;
    const perToken = output + (reserve > 0 ? input : 0);
    headroom.push(["money", share(money, output), share(money - kept, perToken)]);
  }
  const final = smallest(headroom.map(([name, room]) => [name, room]));
  const ordinary = smallest(headroom.map(([name, , room]) => [name, room]));
  const lastStep = reserve > 0 && usage.modelCalls === limits.maxSteps - 1;
  const nearDeadline = reserve > 0 && elapsedMs >= limits.maxWallMs * 0.9;
  if (!lastStep && !nearDeadline && ordinary.room >= smallestCall) {
    const maxTokens = Math.floor(Math.min(limits.maxTokensPerCall, ordinary.room));
    return { kind: "ordinary", maxTokens, limit: ordinary.room <= limits.maxTokensPerCall ? ordinary.name : null };
  }
  const limit = lastStep ? "steps" : nearDeadline ? "wall-time" : ordinary.name;
  if (reserve > 0 && final.room >= smallestCall) {
    return { kind: "final", maxTokens: Math.floor(Math.min(reserve, final.room, limits.maxTokensPerCall)), limit };
  }
  return { kind: "none", limit: final.room < smallestCall ? final.name : limit };
}

function share(money: number, perToken: number): number {
  if (money < 0) return -1;
  return perToken === 0 ? Number.POSITIVE_INFINITY : money / perToken;
}

function smallest(headroom: [LimitName, number][]): { name: LimitName; room: number } {
  let [name, room] = headroom[0]!;
  for (const [otherName, otherRoom] of headroom) if (otherRoom < room) [name, room] = [otherName, otherRoom];
  return { name, room };
}
