/**
 * Limits that are never exceeded. Whatever a call may cost is reserved before it starts and settled after it, so that
 * parallel calls cannot exceed a limit together. A spent budget ends the run; what was done is kept.
 */
import { CoaError } from "../core/errors.ts";

export interface TeamBudget {
  modelCalls?: number;
  toolCalls?: number;
  /** Prompt and completion tokens of all calls. Exact where tokens can be counted beforehand. */
  tokens?: number;
  costUsd?: number;
  wallMs?: number;
}

/** The run may not do what it was about to do. */
export class BudgetSpent extends CoaError {
  override readonly name = "BudgetSpent";
  readonly limit: keyof TeamBudget;

  constructor(limit: keyof TeamBudget, allowed: number) {
    super("usage", `the budget is spent: ${limit} may not exceed ${allowed}`);
    this.limit = limit;
  }
}

/** A meter for one run. `now` and `startedAt` are in milliseconds. */
export function createMeter(budget: TeamBudget, now: () => number, startedAt: number) {
  let modelCalls = 0;
  let toolCalls = 0;
  let tokens = 0;
  let costUsd = 0;
  const inTime = () => {
    if (budget.wallMs !== undefined && now() - startedAt >= budget.wallMs)
      throw new BudgetSpent("wallMs", budget.wallMs);
  };
  return {
    /** Reserves one model call; returns how many tokens it may write. */
    startModelCall(promptTokens: number, wantedTokens: number) {
      inTime();
      if (budget.modelCalls !== undefined && modelCalls >= budget.modelCalls) {
        throw new BudgetSpent("modelCalls", budget.modelCalls);
      }
      if (budget.costUsd !== undefined && costUsd >= budget.costUsd) throw new BudgetSpent("costUsd", budget.costUsd);
      let completion = wantedTokens;
      if (budget.tokens !== undefined) {
        completion = Math.min(wantedTokens, budget.tokens - tokens - promptTokens);
        if (completion <= 0) throw new BudgetSpent("tokens", budget.tokens);
        tokens += promptTokens + completion;
      }
      modelCalls++;
      return completion;
    },
    endModelCall(reserved: number, spent: { tokens: number; costUsd: number }) {
      if (budget.tokens !== undefined) tokens += spent.tokens - reserved;
      costUsd += spent.costUsd;
    },
    startToolCall() {
      inTime();
      if (budget.toolCalls !== undefined && toolCalls >= budget.toolCalls) {
        throw new BudgetSpent("toolCalls", budget.toolCalls);
      }
      toolCalls++;
    },
  };
}

/** What a run has used of its budget. */
export type Meter = ReturnType<typeof createMeter>;
