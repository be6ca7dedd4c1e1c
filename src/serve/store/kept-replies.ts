/**
 * Answers under the idempotency keys of clients. One server at a time has a key; it holds it for a short time and renews
 * that, so that the request of a server that was killed can be sent again.
 */
import { randomUUID } from "node:crypto";
import type { ReplyHeaders } from "../../base/http/handler.ts";
import { type Database, jsonOf } from "./database.ts";

export interface KeptReply {
  status: number;
  headers: ReplyHeaders;
  /** Its text, or its bytes in base64. */
  body: string;
  form: "text" | "bytes" | "stream";
}

export type KeptReplies = ReturnType<typeof keptReplies>;

/** How long an answer is given again. */
export const repliedMs = 24 * 3_600_000;
const maxBytes = 256 * 2 ** 20;
/** What an entry takes besides its answer. */
const entryBytes = 2048;
const trimEvery = 64;

export function keptReplies(database: Database, leaseMs = 15_000) {
  const holder = randomUUID();
  let finished = 0;
  return {
    leaseMs,
    /** Takes a key for a request; else its answer, or that it is being written elsewhere, or that it had another request. */
    async claim(key: string, request: string): Promise<"mine" | "busy" | "other" | KeptReply> {
      const now = database.now();
      const take = `INSERT INTO coa_replies (id, request, at, holder, lease) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET request = excluded.request, at = excluded.at, holder = excluded.holder,
            lease = excluded.lease, reply = NULL
          WHERE coa_replies.at < $6 OR (coa_replies.reply IS NULL AND coa_replies.lease < $3) RETURNING id`;
      const [mine] = await database.run([take, [key, request, now, holder, now + leaseMs, now - repliedMs]]);
      if (mine!.length > 0) return "mine";
      const [rows] = await database.run(["SELECT request, reply FROM coa_replies WHERE id = $1", [key]]);
      const row = rows![0];
      if (row && row["request"] !== request) return "other";
      return row && row["reply"] !== null ? jsonOf<KeptReply>(row, "reply") : "busy";
    },
    async renew(key: string): Promise<void> {
      const hold = "UPDATE coa_replies SET lease = $3 WHERE id = $1 AND holder = $2";
      await database.run([hold, [key, holder, database.now() + leaseMs]]);
    },
    /** Keeps the answer; false where another server has the key. */
    async finish(key: string, reply: KeptReply): Promise<boolean> {
      const text = JSON.stringify(reply);
      const [kept] = await database.run([
        "UPDATE coa_replies SET reply = $3, bytes = $4, chain = $5 WHERE id = $1 AND holder = $2 AND reply IS NULL RETURNING id",
        [key, holder, text, text.length + entryBytes, String(reply.headers["x-coa-trajectory"] ?? "")],
      ]);
      if (++finished % trimEvery === 0) {
        const sums = "SELECT id, sum(bytes) OVER (ORDER BY at DESC) AS total FROM coa_replies WHERE reply IS NOT NULL";
        const old = `DELETE FROM coa_replies WHERE id IN (SELECT id FROM (${sums}) AS all_of WHERE total > $1)`;
        await database.run([old, [maxBytes]]);
      }
      return kept!.length > 0;
    },
    /** Gives a key back: the next request runs. */
    async forget(key: string): Promise<void> {
      await database.run(["DELETE FROM coa_replies WHERE id = $1 AND holder = $2 AND reply IS NULL", [key, holder]]);
    },
  };
}
