/** The flags of a budget, for the commands that record. */
import { UsageError } from "../../core/errors.ts";
import type { BudgetLimits, BudgetOptions } from "../../record/budget.ts";
import { numberOf } from "../command.ts";
import { pricesOf } from "../flag-values.ts";
import { priceOption } from "./record-folder.ts";

export const budgetOptions = {
  "run-calls": { type: "string", valueName: "n", describe: "Most calls of one run" },
  "run-tokens": { type: "string", valueName: "n", describe: "Most tokens of one run" },
  "run-usd": { type: "string", valueName: "dollars", describe: "Most money of one run (needs --price)" },
  calls: { type: "string", valueName: "n", describe: "Most calls in all" },
  tokens: { type: "string", valueName: "n", describe: "Most tokens in all" },
  usd: { type: "string", valueName: "dollars", describe: "Most money in all (needs --price)" },
  price: priceOption,
} as const;

type Values = { [name in Exclude<keyof typeof budgetOptions, "price">]?: string } & { price?: string[] };

/** The budget that the flags describe; undefined where they set no limit. */
export function budgetOf(values: Values): BudgetOptions | undefined {
  const limit = (name: Exclude<keyof Values, "price">) => numberOf(values[name], name, { min: 0 });
  const perRun = limits(limit("run-calls"), limit("run-tokens"), limit("run-usd"));
  const total = limits(limit("calls"), limit("tokens"), limit("usd"));
  const prices = pricesOf(values.price ?? []);
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
