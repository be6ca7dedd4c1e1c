/**
 * Limits that are never exceeded. Whatever a call may cost is reserved before it starts and settled after it, so that
 * parallel calls cannot exceed a limit together. A spent budget ends the run; what was done is kept.
 */
import { CoaError } from "../core/errors.ts";
import type { TeamOptions } from "./run-team.ts";

type TeamBudget = NonNullable<TeamOptions["budget"]>;

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
  const used = { modelCalls: 0, toolCalls: 0, tokens: 0, costUsd: 0, wallMs: 0 };
  const check = (...limits: (keyof TeamBudget)[]) => {
    if (budget.wallMs !== undefined) used.wallMs = now() - startedAt;
    for (const limit of ["wallMs" as const, ...limits])
      if (used[limit] >= (budget[limit] ?? Infinity)) throw new BudgetSpent(limit, budget[limit]!);
  };
  return {
    /** Reserves one model call; returns how many tokens it may write. */
    startModelCall(promptTokens: number, wantedTokens: number) {
      check("modelCalls", "costUsd");
      const { tokens = Infinity } = budget;
      const completion = Math.min(wantedTokens, tokens - used.tokens - promptTokens);
      if (completion <= 0) throw new BudgetSpent("tokens", tokens);
      used.tokens += promptTokens + completion;
      used.modelCalls++;
      return completion;
    },
    endModelCall(reserved: number, spent: { tokens: number; costUsd: number }) {
      used.tokens += spent.tokens - reserved;
      used.costUsd += spent.costUsd;
    },
    startToolCall() {
      check("toolCalls");
      used.toolCalls++;
    },
  };
}

/** What a run has used of its budget. */
export type Meter = ReturnType<typeof createMeter>;
