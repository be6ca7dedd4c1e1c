/**
 * A limit in money that is checked before every call: each call of a model is added to a ledger, and none is made once
 * the limit is reached. A ledger in a file counts over several commands and after a crash.
 */
import { jsonlJournal } from "../base/files/open-jsonl.ts";
import { type AnyModel, type ModelWrapper, wrapModel } from "../base/work/wrap-model.ts";
import { CoaError, UsageError } from "../core/errors.ts";
import type { CallUsage, Price } from "../core/model.ts";
import { addCall, callCost, emptyUsage, priceOf as modelPrice, type Usage } from "../core/usage.ts";
import { count } from "../report/format-figures.ts";
import type { Session } from "./session.ts";
import type { Section } from "./settings/index.ts";

/** Reads `in,out` or `in,out,cached`: dollars per million tokens. */
function readPrice(text: string): Price {
  const parts = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [input, output, cachedInput] = parts;
  if (input === undefined || output === undefined || parts.length > 3 || parts.some((value) => !(value >= 0))) {
    throw new UsageError(`--price takes dollars per million tokens as in,out or in,out,cached, not "${text}"`);
  }
  return { input, output, ...(cachedInput !== undefined && { cachedInput }) };
}

/** Reads prices by model: `gpt-5=1.25,10,0.125`; without a name it is every model's, under `*`. */
export function pricesOf(given: readonly string[]): Record<string, Price> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.lastIndexOf("=");
      return [at < 0 ? "*" : text.slice(0, at), readPrice(text.slice(at + 1))];
    }),
  );
}

/** The price of a model; of every model where none is named. */
export function priceOf(given: readonly string[], model = "*"): Price | undefined {
  return modelPrice(pricesOf(given), model);
}

export interface Ledger {
  readonly price: Price | undefined;
  /** Everything spent so far, that of earlier processes included. */
  readonly usage: Usage;
  /** The model, its calls added up and stopped at the limit. */
  watch<M extends AnyModel>(model: M): M;
}

/** Opens the ledger that the settings describe. */
export async function openLedger(
  { price: prices, maxUsd: most, maxTokens, ledger }: Section<"spending">,
  session: Session,
): Promise<Ledger> {
  const price = priceOf(prices);
  if (most !== undefined && !price)
    throw new UsageError(
      "--max-usd needs to know what tokens cost: give --price <in,out>, in dollars per million tokens",
    );
  const journal = ledger === undefined ? undefined : session.closeAtEnd(await jsonlJournal<CallUsage>(ledger));
  const usage = emptyUsage();
  for await (const call of journal?.read() ?? []) addCall(usage, call, { costUsd: callCost(call, price) });
  const watching: ModelWrapper = {
    async chat(request, next) {
      if (most !== undefined && usage.costUsd >= most)
        throw new CoaError(
          "model",
          `$${usage.costUsd.toFixed(4)} is spent, and --max-usd is ${most}. Allow more and start again: what is done is kept`,
          { code: "budget-spent" },
        );
      if (maxTokens !== undefined && usage.billedTokens >= maxTokens)
        throw new CoaError(
          "model",
          `${count(usage.billedTokens)} tokens are used, and the limit is ${count(maxTokens)}, twice what was estimated. Start again to allow as much once more: what is done is kept`,
          { code: "budget-spent" },
        );
      const reply = await next(request);
      addCall(usage, reply.usage, { costUsd: callCost(reply.usage, price) });
      await journal?.append(reply.usage);
      return reply;
    },
  };
  return { price, usage, watch: (model) => wrapModel(model, watching) };
}
