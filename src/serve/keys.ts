/**
 * How many requests a caller may send: keys with quotas. Requests of a key are counted by the minute, its tokens and dollars by
 * the day, by the month and in all, together for all servers of one store; what runs here is reserved until it is counted. Without keys every caller on this machine is admitted.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Call as GuardedCall, Route } from "../base/http/guard.ts";
import { Refusal } from "../base/http/refusal.ts";
import { UsageError } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import type { Counted, Counts } from "./store/counts.ts";

const amount = z.number().positive().optional();

export const keySchema = z.object({
  key: z.string().min(8),
  /** For logs and metrics; the key itself is never shown. */
  name: z.string().optional(),
  requestsPerMinute: amount,
  /** Tokens this key may use, and dollars: in all, on a day and in a month of UTC. */
  maxTokens: amount,
  maxUsd: amount,
  maxTokensPerDay: amount,
  maxUsdPerDay: amount,
  maxTokensPerMonth: amount,
  maxUsdPerMonth: amount,
  /** False: nothing of this key's requests is kept, whatever the server keeps. */
  keep: z.boolean().optional(),
  /** True: may read at `/v1/usage` what every key has used, not its own use alone. */
  readsUsage: z.boolean().optional(),
});
export type ServeKey = z.infer<typeof keySchema>;
type NamedKey = ServeKey & { name: string };

/** Reads a file of keys: one to a line, or a line of JSON with quotas; lines that begin with # are comments. */
export async function readKeys(file: string): Promise<ServeKey[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(`can't read the keys in ${file}: ${error.message}`);
  });
  const lines = text.split("\n").map((line) => line.trim());
  return lines.flatMap((line, index) => {
    if (line === "" || line.startsWith("#")) return [];
    let value: unknown = { key: line };
    if (line.startsWith("{")) {
      try {
        value = JSON.parse(line);
      } catch {
        throw new UsageError(`${file}:${index + 1}: not JSON`);
      }
    }
    const parsed = keySchema.safeParse(value);
    if (!parsed.success) throw new UsageError(`${file}:${index + 1}: ${z.prettifyError(parsed.error)}`);
    return [parsed.data];
  });
}

/** What a chain or a completion used. */
export type Used = Pick<Usage, "promptTokens" | "completionTokens" | "billedTokens" | "costUsd">;

/** A caller that was admitted. */
export interface Caller {
  name: string;
  /** Identifies the key where something belongs to it; the key can't be computed from it. */
  owner: string;
  keep: boolean;
  /** Rate-limit headers for its answer. */
  headers: Record<string, string>;
  /** Counts so many more requests, of which one body was made; refused where they are too many. */
  count(requests: number): Promise<void>;
  spend(used: Used): Promise<void>;
  /** What this request has used so far, and how long it waited for a place. */
  used?: Used;
  queuedMs?: number;
}

export type Callers = ReturnType<typeof callers>;

/** What a chain is taken to use before a key has run one. */
const firstTokens = 1000;

/** Admits callers by what all servers have counted. */
export function callers(given: readonly ServeKey[], counts: () => Promise<Counts>) {
  const keys = given.map((key, index) => ({ ...key, name: key.name ?? `key ${index + 1}` }));
  const owners = new Map(keys.map((entry) => [entry, createHash("sha256").update(entry.key).digest("base64url")]));
  /** Chains under way by owner, and the most that one of them has used so far. */
  const underWay = new Map(Array.from(owners.values(), (owner) => [owner, { chains: 0, tokens: firstTokens, usd: 0 }]));
  const entryOf = (owner: string) => keys.find((one) => owners.get(one) === owner);
  const anyone: Caller = {
    name: "anyone",
    owner: "anyone",
    keep: true,
    headers: {},
    async count() {},
    async spend() {},
  };

  function callerOf(entry: NamedKey): Caller {
    const owner = owners.get(entry)!;
    const most = entry.requestsPerMinute;
    const caller: Caller = {
      name: entry.name,
      owner,
      keep: entry.keep !== false,
      headers: {},
      async count(requests) {
        if (most === undefined || requests === 0) return;
        const { taken, restMs } = await (await counts()).take(owner, requests, most);
        const resetSeconds = Math.ceil(restMs / 1000);
        caller.headers = {
          "x-ratelimit-limit-requests": String(most),
          "x-ratelimit-remaining-requests": String(Math.max(0, Math.floor(most) - (taken ?? most))),
          "x-ratelimit-reset-requests": `${resetSeconds}s`,
        };
        if (taken !== undefined) return;
        const after = { "retry-after": String(resetSeconds), "retry-after-ms": String(resetSeconds * 1000) };
        throw new Refusal(429, `this key may send ${most} requests a minute`, {
          code: "rate_limit_exceeded",
          headers: { ...caller.headers, ...after },
        });
      },
      async spend({ billedTokens: tokens, costUsd: usd }) {
        const seen = underWay.get(owner)!;
        Object.assign(seen, { tokens: Math.max(seen.tokens, tokens), usd: Math.max(seen.usd, usd) });
        await (await counts()).spend(owner, { tokens, usd });
      },
    };
    return caller;
  }

  async function checkBudget(entry: NamedKey, reserved = () => 0): Promise<void> {
    const budgets = [
      ["all", "", entry.maxTokens, entry.maxUsd],
      ["day", " for this day (UTC)", entry.maxTokensPerDay, entry.maxUsdPerDay],
      ["month", " for this month (UTC)", entry.maxTokensPerMonth, entry.maxUsdPerMonth],
    ] as const;
    if (budgets.every(([, , tokens, usd]) => tokens === undefined && usd === undefined)) return;
    const before = reserved();
    const spent = await (await counts()).spent(owners.get(entry)!);
    const chains = Math.max(before, reserved()); // one that has ended meanwhile may not be among what was spent
    const each = underWay.get(owners.get(entry)!)!;
    for (const [period, words, tokens = Infinity, usd = Infinity] of budgets) {
      const has = (count: number) =>
        spent[period].tokens + count * each.tokens < tokens && spent[period].usd + count * each.usd < usd;
      if (has(chains)) continue;
      if (has(0)) {
        const text = `the rest of the budget of this key${words} is reserved by its requests under way`;
        throw new Refusal(429, text, { code: "rate_limit_exceeded", headers: { "retry-after": "1" } });
      }
      // Trying again shortly would not help, and the openai client believes this header.
      const headers = { "x-should-retry": "false" };
      throw new Refusal(429, `the budget of this key${words} is used up`, { code: "insufficient_quota", headers });
    }
  }

  return {
    /** The keys, each with a name. */
    keys,
    /** The caller of a key; refused where the key has used up what it allows. */
    async admit(entry: NamedKey | undefined): Promise<Caller> {
      if (!entry) return anyone;
      await checkBudget(entry);
      const caller = callerOf(entry);
      await caller.count(1);
      return caller;
    },
    /** The caller of a request that was admitted before; undefined where its key is not known any more. */
    ofOwner(owner: string): Caller | undefined {
      const entry = entryOf(owner);
      return entry ? callerOf(entry) : keys.length === 0 && owner === "anyone" ? anyone : undefined;
    },
    /** What was used by days and months of UTC: by the key itself, or by all keys where it may read that. */
    async usage(owner: string): Promise<(Omit<Counted, "owner"> & { key: string })[]> {
      const rows = await (await counts()).used(entryOf(owner)?.readsUsage ? undefined : owner);
      return rows.map(({ owner: of, ...row }) => ({
        key: entryOf(of)?.name ?? "a key that is not known any more",
        ...row,
      }));
    },
    /** Reserves what a chain may use until it has ended; refused where the budget has no room for it beside those under way. */
    async reserve(owner: string): Promise<() => void> {
      const entry = entryOf(owner);
      const own = underWay.get(owner);
      if (!entry || !own) return () => {};
      await checkBudget(entry, () => own.chains);
      own.chains++;
      return () => void own.chains--;
    },
  };
}

export type Call = GuardedCall<Caller>;

/** Answers a request; a value that it returns is sent as JSON. */
export type Endpoint = Route<Caller>;
