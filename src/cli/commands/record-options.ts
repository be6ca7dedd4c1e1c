/** Where recordings are, and the budget of recorded runs, from settings. */
import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import type { BudgetLimits, BudgetOptions } from "../../record/budget.ts";
import type { Settings } from "../settings/index.ts";
import { pricesOf } from "../spending.ts";

/** The budget that the settings describe; undefined if they set no limit. */
export function budgetOf({ record, spending }: Settings<"record" | "spending">): BudgetOptions | undefined {
  const perRun = limits(record.maxCallsPerRun, record.maxTokensPerRun, record.maxUsdPerRun);
  const total = limits(record.maxCalls, record.maxTokens, spending.maxUsd);
  const prices = pricesOf(spending.price);
  if ((perRun.usd !== undefined || total.usd !== undefined) && Object.keys(prices).length === 0) {
    throw new UsageError("a limit on money needs prices: --price 0.25,2 (dollars for a million tokens, in and out)");
  }
  return Object.keys(perRun).length + Object.keys(total).length > 0 ? { perRun, total, prices } : undefined;
}

function limits(calls?: number, tokens?: number, usd?: number): BudgetLimits {
  return {
    ...(calls !== undefined && { calls }),
    ...(tokens !== undefined && { tokens }),
    ...(usd !== undefined && { usd }),
  };
}

/** The folder that was named, or the workspace's own. */
export async function recordingsFolder(given: string | undefined): Promise<string> {
  return given ?? (await openWorkspace()).folder("recordings");
}
