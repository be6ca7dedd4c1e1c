/**
 * Hard limits on calls, tokens and money, for each run and for all of them. A call reserves what it may cost: its
 * prompt as estimated and the most that its reply may have. What it did not use is given back when it ends; a call that
 * failed before the model answered costs nothing, so a call that is tried again counts once. A call that does not fit
 * while others are under way waits for them; it is refused only when nothing is left that could be given back.
 */

import { z } from "zod";
import { estimateTokens } from "../base/count/token-estimate.ts";
import { noReply, type WireApi, type WireReply } from "../base/wire/wire-api.ts";
import { notice } from "../base/work/followable-log.ts";
import { asText, type Json } from "../core/json-value.ts";
import type { CallUsage, Price, Prices } from "../core/model.ts";
import { callCost, priceOf } from "../core/usage.ts";
import { readAnswer } from "./read-answer.ts";
import type { CallOutcome } from "./recorded-call.ts";

const limitsSchema = z.strictObject({
  calls: z.number().min(0).optional(),
  tokens: z.number().min(0).optional(),
  usd: z.number().min(0).optional(),
});
const amount = z.number().min(0);
const priceSchema = z.object({
  input: amount,
  output: amount,
  cachedInput: amount.optional(),
  reasoning: amount.optional(),
});

/** The fields of a budget, also as JSON in `COA_BUDGET`. */
export const budgetOptionsSchema = z.strictObject({
  /** For each run (all calls without a run id are one run). */
  perRun: limitsSchema.optional(),
  /** For everything together. */
  total: limitsSchema.optional(),
  /** Dollars for a million tokens, by model name; `*` means any model. Money is only counted with prices. */
  prices: z.record(z.string(), priceSchema).optional(),
  /** The most that one reply may have where the request sets no limit; by default learned from the replies so far. */
  replyTokens: z.number().positive().optional(),
});
export type BudgetOptions = z.infer<typeof budgetOptionsSchema>;
export type BudgetLimits = NonNullable<BudgetOptions["total"]>;

/** What was used; `spent` leaves out what calls under way have reserved. */
export interface Spent {
  calls: number;
  tokens: number;
  usd: number;
}

/** What a call asks for. */
export interface BudgetRequest {
  runId?: string;
  api?: WireApi;
  /** The path, for APIs that write the model there. */
  path: string;
  body: Json;
  bytes: number;
  /** Ends the waiting: the client is gone. */
  signal?: AbortSignal;
}

/** What an admitted call holds until it is settled. */
export interface Reservation {
  /** The request, with a limit on its reply where the budget needs one. */
  body: Json;
  /** Charges what the call used; undefined for a call that the model never answered. */
  settle(reply: Pick<WireReply, "usage" | "text" | "reasoning" | "toolCalls" | "others" | "pending"> | undefined): void;
}

export interface Budget {
  /** Waits for calls under way where the call does not fit beside them. */
  admit(request: BudgetRequest): Promise<Reservation | { refused: string }>;
  /** For clients that can't be made to wait: what does not fit now is refused. */
  admitNow(request: BudgetRequest): Reservation | { refused: string };
  spent(runId?: string): Spent;
}

interface Scope {
  name: string;
  limits: BudgetLimits;
  spent: Spent;
  held: Spent;
  inFlight: number;
}

/** Until calls have shown how long replies are. */
const firstReplyTokens = 4096;

export function createBudget(options: BudgetOptions): Budget {
  const total = scope("all runs", options.total);
  const runs = new Map<string, Scope>();
  const settled = notice();
  let longestReply = 0;
  const runScope = (runId: string | undefined): Scope => {
    const key = runId ?? "";
    const known = runs.get(key) ?? scope(`run ${runId ?? "(without id)"}`, options.perRun);
    runs.set(key, known);
    return known;
  };

  function tryAdmit(request: BudgetRequest): Reservation | { refused: string } | "wait" {
    const { api, body } = request;
    const scopes = [runScope(request.runId), total];
    const read = api?.readRequest(body, request.path);
    const price = options.prices && priceOf(options.prices as Prices, asText(read?.model ?? body["model"]));
    const prompt = Math.ceil(request.bytes / 3);
    const usual = options.replyTokens ?? Math.max(firstReplyTokens, longestReply * 2);
    const samples = Math.max(1, read?.samples ?? 1); // each of several replies may be that long
    const wanted = api ? (read?.maxTokens ?? usual) * samples : 0;
    let reply = wanted;
    for (const one of scopes) {
      const why = refusal(one, prompt, price);
      if (why)
        return one.inFlight > 0 && refusal({ ...one, held: nothing() }, prompt, price) === undefined
          ? "wait"
          : { refused: why };
      reply = Math.min(reply, roomFor(one, prompt, price));
    }
    reply = Math.floor(reply / samples) * samples;
    if (api && reply < wanted && scopes.some((one) => one.inFlight > 0)) return "wait";
    if (api && reply < 1) {
      return { refused: `the budget leaves no room for a reply after a prompt of about ${prompt} tokens` };
    }
    const limited = scopes.some(({ limits }) => limits.tokens !== undefined || limits.usd !== undefined);
    const held = charge({ promptTokens: prompt, completionTokens: reply }, price);
    for (const one of scopes) {
      add(one.held, held, 1);
      one.inFlight++;
    }
    let over = false;
    return {
      body: api && limited ? prepared(api, body, read?.maxTokens, reply / samples, read?.stream === true) : body,
      settle(answer) {
        if (over) return;
        over = true;
        // What the server continues in the background is charged in full: its end is not seen here.
        const used = answer?.pending
          ? { promptTokens: prompt, completionTokens: reply }
          : answer && usageOf(answer, prompt);
        if (used && !answer?.pending) longestReply = Math.max(longestReply, used.completionTokens / samples);
        for (const one of scopes) {
          add(one.held, held, -1);
          one.inFlight--;
          if (used) add(one.spent, charge(used, price), 1);
        }
        settled.give();
      },
    };
  }

  return {
    spent: (runId) => ({ ...(runId === undefined ? total : runScope(runId)).spent }),
    admitNow(request) {
      const answer = tryAdmit(request);
      return answer === "wait" ? { refused: "calls under way hold what is left, and this client can't wait" } : answer;
    },
    async admit(request) {
      for (;;) {
        request.signal?.throwIfAborted();
        const answer = tryAdmit(request);
        if (answer !== "wait") return answer;
        await settled.wait({ signal: request.signal });
      }
    },
  };
}

/** What a call brought; a call that never reached the model brought nothing, and costs nothing. */
export function broughtBy(
  api: WireApi | undefined,
  answer: string,
  end: { outcome: CallOutcome; contentType: string },
): WireReply | undefined {
  if (end.outcome === "upstream-error") return undefined;
  return api ? readAnswer(api, answer, end.contentType) : { ...noReply(), usage: { completionTokens: 0 } };
}

/** A limit on the reply where the request has none or a higher one, and the wish for usage where streams need it. */
function prepared(api: WireApi, body: Json, asked: number | undefined, reply: number, stream: boolean): Json {
  const limited = asked !== undefined && asked <= reply ? body : api.limitReply(body, reply);
  return stream && api.askUsage ? api.askUsage(limited) : limited;
}

/** What the server said, or an estimate from the length of what came. */
function usageOf(
  answer: Pick<WireReply, "usage" | "text" | "reasoning" | "toolCalls" | "others">,
  prompt: number,
): CallUsage {
  const estimated = [answer, ...(answer.others ?? [])].reduce((sum, { text, reasoning = "", toolCalls }) => {
    const calls = toolCalls.map((call) => call.name + call.arguments).join("");
    return sum + estimateTokens(text + reasoning + calls);
  }, 0);
  return {
    ...answer.usage,
    promptTokens: answer.usage?.promptTokens ?? prompt,
    completionTokens: answer.usage?.completionTokens ?? estimated,
  };
}

function refusal({ name, spent, held, limits }: Scope, prompt: number, price: Price | undefined): string | undefined {
  if (limits.calls !== undefined && spent.calls + held.calls + 1 > limits.calls) {
    return `${name}: ${spent.calls} of ${limits.calls} calls are used`;
  }
  if (limits.tokens !== undefined && spent.tokens + held.tokens + prompt >= limits.tokens) {
    return `${name}: ${spent.tokens} of ${limits.tokens} tokens are used, this prompt is about ${prompt}`;
  }
  if (limits.usd !== undefined) {
    if (!price) return `${name}: a money limit is set, but there is no price for this model`;
    const cost = (prompt * price.input) / 1e6;
    if (spent.usd + held.usd + cost > limits.usd) {
      return `${name}: $${spent.usd.toFixed(6)} of $${limits.usd} are used, this prompt costs about $${cost.toFixed(6)}`;
    }
  }
  return undefined;
}

/** How many tokens the reply may have. */
function roomFor({ spent, held, limits }: Scope, prompt: number, price: Price | undefined): number {
  const byTokens =
    limits.tokens === undefined ? Number.POSITIVE_INFINITY : limits.tokens - spent.tokens - held.tokens - prompt;
  const highest = Math.max(price?.output ?? 0, price?.reasoning ?? 0);
  if (limits.usd === undefined || highest === 0) return byTokens;
  const left = limits.usd - spent.usd - held.usd - (prompt * (price?.input ?? 0)) / 1e6;
  return Math.min(byTokens, (left * 1e6) / highest);
}

function charge(usage: CallUsage, price: Price | undefined): Spent {
  return { calls: 1, tokens: usage.promptTokens + usage.completionTokens, usd: callCost(usage, price) };
}

function scope(name: string, limits: BudgetLimits = {}): Scope {
  return { name, limits, spent: nothing(), held: nothing(), inFlight: 0 };
}

function nothing(): Spent {
  return { calls: 0, tokens: 0, usd: 0 };
}

function add(sum: Spent, amount: Spent, sign: 1 | -1): void {
  sum.calls += sign * amount.calls;
  sum.tokens += sign * amount.tokens;
  sum.usd += sign * amount.usd;
}
