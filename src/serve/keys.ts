/**
 * How many requests a caller may send: keys with quotas. Requests of a key are counted by the minute and its cost since the
 * start of the server. Without keys every caller on this machine is admitted.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { Refusal } from "../base/http/refusal.ts";
import { steadyNow } from "../base/work/steady-clock.ts";
import { UsageError } from "../core/errors.ts";

const keySchema = z.object({
  key: z.string().min(8),
  /** For logs and metrics; the key itself is never shown. */
  name: z.string().optional(),
  requestsPerMinute: z.number().positive().optional(),
  /** Tokens this key may use, and dollars, until the server is started again. */
  maxTokens: z.number().positive().optional(),
  maxUsd: z.number().positive().optional(),
  /** False: nothing of this key's requests is kept, whatever the server keeps. */
  keep: z.boolean().optional(),
});
/** A key and what it allows. */
export type ServeKey = z.infer<typeof keySchema>;

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

/** A caller that was admitted. */
export interface Caller {
  name: string;
  /** Identifies the key where something belongs to it; the key can't be computed from it. */
  owner: string;
  keep: boolean;
  /** Rate-limit headers for its answer. */
  headers: Record<string, string>;
  /** Counts so many more requests, of which one body was made; refused where they are too many. */
  count(requests: number): void;
  /** Counts what its request used. */
  spend(tokens: number, usd: number): void;
}

/** The caller of a key; refused where the key has used up what it allows. */
export function admission(
  keys: readonly ServeKey[],
  now: () => number = steadyNow,
): (entry: ServeKey | undefined) => Caller {
  const counts = new Map<ServeKey, { minute: number; requests: number; tokens: number; usd: number }>();
  const anyone: Caller = { name: "anyone", owner: "anyone", keep: true, headers: {}, count() {}, spend() {} };
  return (entry) => {
    if (!entry) return anyone;
    const minute = Math.floor(now() / 60_000);
    const count = counts.get(entry) ?? { minute, requests: 0, tokens: 0, usd: 0 };
    counts.set(entry, count);
    if (count.minute !== minute) Object.assign(count, { minute, requests: 0 });
    if (count.tokens >= (entry.maxTokens ?? Infinity) || count.usd >= (entry.maxUsd ?? Infinity)) {
      // Trying again shortly would not help, and the openai client believes this header.
      const headers = { "x-should-retry": "false" };
      throw new Refusal(429, "the budget of this key is used up", { code: "insufficient_quota", headers });
    }
    const most = entry.requestsPerMinute ?? Infinity;
    const resetSeconds = Math.ceil((minute + 1) * 60 - now() / 1000);
    const headers = (): Record<string, string> => ({
      "x-ratelimit-limit-requests": String(most),
      "x-ratelimit-remaining-requests": String(Math.max(0, most - count.requests)),
      "x-ratelimit-reset-requests": `${resetSeconds}s`,
    });
    const take = (requests: number) => {
      if (count.requests + requests > most) {
        throw new Refusal(429, `this key may send ${most} requests a minute`, {
          code: "rate_limit_exceeded",
          headers: { ...headers(), "retry-after": String(resetSeconds), "retry-after-ms": String(resetSeconds * 1000) },
        });
      }
      count.requests += requests;
    };
    take(1);
    return {
      name: entry.name ?? `key ${keys.indexOf(entry) + 1}`,
      owner: ownerOf(entry),
      keep: entry.keep !== false,
      headers: most === Infinity ? {} : headers(),
      count: take,
      spend(tokens, usd) {
        count.tokens += tokens;
        count.usd += usd;
      },
    };
  };
}

const ownerOf = ({ key }: ServeKey): string => createHash("sha256").update(key).digest("base64url");

/** The caller of a request that was admitted before; undefined where its key is not known any more. */
export function callerOf(keys: readonly ServeKey[], owner: string): Caller | undefined {
  const entry = keys.find((key) => ownerOf(key) === owner);
  if (!entry && (keys.length > 0 || owner !== "anyone")) return undefined;
  return { name: entry?.name ?? "anyone", owner, keep: entry?.keep !== false, headers: {}, count() {}, spend() {} };
}
