/**
 * Hard limits on calls, tokens and money, for each run and for all of them. A call is admitted only if it fits with what
 * is already spent and what other calls in flight have set aside: the prompt as estimated and the most the model may
 * write. A call without such a limit of its own is given what is left, so that no reply can pass the limit by itself.
 */

import { asNumber, asObject } from "../../core/json-value.ts";
import type { Price } from "../../core/model.ts";

export interface BudgetLimits {
  calls?: number;
  tokens?: number;
  usd?: number;
}

export interface BudgetOptions {
  /** For each run (all calls without a run id are one run). */
  perRun?: BudgetLimits;
  /** For everything that passes this proxy. */
  total?: BudgetLimits;
  /** Dollars for a million tokens, by model name; `*` stands for any model. Money is only counted with prices. */
  prices?: Record<string, Price>;
}

interface Spent {
  calls: number;
  tokens: number;
  usd: number;
}

/** What an admitted call holds until it is settled. */
export interface Reservation {
  /** The request, with its limit on output lowered to what is left. */
  body: Record<string, unknown>;
  /** Gives back what was not used; without usage from the server the estimate stays. */
  settle(usage: { promptTokens?: number; completionTokens?: number } | undefined): void;
}

export interface Budget {
  admit(
    runId: string | undefined,
    path: string,
    body: Record<string, unknown>,
    bytes: number,
  ): Reservation | { refused: string };
  spent(runId?: string): Spent;
}

const nothing = (): Spent => ({ calls: 0, tokens: 0, usd: 0 });

/** Starts counting. */
export function createBudget(options: BudgetOptions): Budget {
  const total = nothing();
  const runs = new Map<string, Spent>();
  const of = (runId: string | undefined): Spent => {
    const key = runId ?? "";
    const known = runs.get(key) ?? nothing();
    runs.set(key, known);
    return known;
  };
  return {
    spent: (runId) => ({ ...(runId === undefined ? total : of(runId)) }),
    admit(runId, path, body, bytes) {
      const run = of(runId);
      const price = priceOf(options.prices, body["model"]);
      const prompt = Math.ceil(bytes / 3);
      const scopes: [string, Spent, BudgetLimits][] = [
        [`run ${runId ?? "(without id)"}`, run, options.perRun ?? {}],
        ["all runs", total, options.total ?? {}],
      ];
      const field = outputField(path, body);
      const asked = field === undefined ? 0 : asNumber(body[field]);
      let room = Number.POSITIVE_INFINITY;
      for (const [name, spent, limits] of scopes) {
        const why = refusal(name, spent, limits, prompt, price);
        if (why) return { refused: why };
        room = Math.min(room, roomFor(spent, limits, prompt, price));
      }
      if (field !== undefined && room < 1) {
        return { refused: `the budget leaves no room for a reply after a prompt of about ${prompt} tokens` };
      }
      const output = Math.min(asked ?? Number.POSITIVE_INFINITY, Math.floor(room));
      const capped = field !== undefined && Number.isFinite(output) && output !== asked;
      const held = charge(prompt, Number.isFinite(output) ? output : 0, price);
      for (const spent of [run, total]) add(spent, held, 1);
      return {
        body: capped ? { ...body, [field]: output } : body,
        settle(usage) {
          if (!usage) return;
          const used = charge(usage.promptTokens ?? prompt, usage.completionTokens ?? 0, price);
          for (const spent of [run, total]) {
            add(spent, held, -1);
            add(spent, used, 1);
          }
        },
      };
    },
  };
}

function refusal(
  name: string,
  spent: Spent,
  limits: BudgetLimits,
  prompt: number,
  price: Price | undefined,
): string | undefined {
  if (limits.calls !== undefined && spent.calls + 1 > limits.calls) {
    return `${name}: ${spent.calls} of ${limits.calls} calls are used`;
  }
  if (limits.tokens !== undefined && spent.tokens + prompt > limits.tokens) {
    return `${name}: ${spent.tokens} of ${limits.tokens} tokens are used or set aside, this prompt is about ${prompt}`;
  }
  if (limits.usd !== undefined) {
    if (!price) return `${name}: a money limit is set, but there is no price for this model`;
    const cost = (prompt * price.input) / 1e6;
    if (spent.usd + cost > limits.usd) {
      return `${name}: $${spent.usd.toFixed(6)} of $${limits.usd} are used or set aside, this prompt costs about $${cost.toFixed(6)}`;
    }
  }
  return undefined;
}

/** How many tokens the reply may have. */
function roomFor(spent: Spent, limits: BudgetLimits, prompt: number, price: Price | undefined): number {
  const byTokens = limits.tokens === undefined ? Number.POSITIVE_INFINITY : limits.tokens - spent.tokens - prompt;
  if (limits.usd === undefined || !price || price.output === 0) return byTokens;
  const left = limits.usd - spent.usd - (prompt * price.input) / 1e6;
  return Math.min(byTokens, (left * 1e6) / price.output);
}

function charge(prompt: number, completion: number, price: Price | undefined): Spent {
  const usd = price ? (prompt * price.input + completion * price.output) / 1e6 : 0;
  return { calls: 1, tokens: prompt + completion, usd };
}

function add(spent: Spent, amount: Spent, sign: 1 | -1): void {
  spent.calls += sign * amount.calls;
  spent.tokens += sign * amount.tokens;
  spent.usd += sign * amount.usd;
}

function priceOf(prices: BudgetOptions["prices"], model: unknown): Price | undefined {
  return ((typeof model === "string" ? asObject(prices)?.[model] : undefined) as Price | undefined) ?? prices?.["*"];
}

function outputField(path: string, body: Record<string, unknown>): string | undefined {
  if (path.endsWith("/embeddings")) return undefined;
  if (path.endsWith("/responses")) return "max_output_tokens";
  if (!path.endsWith("/chat/completions")) return "max_tokens";
  return body["max_tokens"] !== undefined ? "max_tokens" : "max_completion_tokens";
}
