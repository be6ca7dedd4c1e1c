/** Prices as flags and settings give them. */
import { UsageError } from "../core/errors.ts";
import type { Price } from "../core/model.ts";
import { priceOf as modelPrice } from "../core/usage.ts";

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
