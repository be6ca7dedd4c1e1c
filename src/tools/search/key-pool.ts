/**
 * Several API keys used in turn. A key that has reached its rate limit pauses; one that was refused is not used again,
 * so a long run continues without a spent or revoked key.
 */
import { steadyNow } from "../../base/work/steady-clock.ts";

/** A pool of keys; one text may hold several, separated by `|`, `,` or spaces. */
export function keyPool(keys: string | readonly string[], now: () => number = steadyNow) {
  const list = [...new Set((typeof keys === "string" ? keys.split(/[|,\s]+/) : keys).filter((key) => key !== ""))];
  const restingUntil = new Map<string, number>();
  const refused = new Set<string>();
  let turn = 0;
  return {
    size: list.length,
    /** The next usable key; undefined when all are refused. A pausing key is given when all are pausing. */
    next() {
      const usable = list.filter((key) => !refused.has(key));
      if (usable.length === 0) return undefined;
      const time = now();
      for (let i = 0; i < usable.length; i++) {
        const key = usable[(turn + i) % usable.length]!;
        if ((restingUntil.get(key) ?? 0) > time) continue;
        turn = (turn + i + 1) % usable.length;
        return key;
      }
      return usable.reduce((a, b) => ((restingUntil.get(a) ?? 0) <= (restingUntil.get(b) ?? 0) ? a : b));
    },
    rest: (key: string, forMs: number) => void restingUntil.set(key, now() + forMs),
    refuse: (key: string) => void refused.add(key),
  };
}

/** Keys that are used in turn. */
export type KeyPool = ReturnType<typeof keyPool>;
