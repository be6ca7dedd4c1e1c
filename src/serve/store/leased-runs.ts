/**
 * Responses in the background, as the servers that share a store see them. A server that runs one holds it for a short time and
 * renews that; where it stops doing so, because it was killed, another takes the response over and runs it again. What a
 * server writes that holds it no longer is not stored, so that one run of each response counts.
 */
import { randomUUID } from "node:crypto";
import { type Json, objectsOf } from "../../core/json-value.ts";
import { type Database, jsonOf, type Row, type Statement } from "./database.ts";
import { insertion, itemInsertions, type StoredResponse } from "./stored-responses.ts";

export interface TakenRun {
  id: string;
  owner: string;
  request: Json;
  response: Json;
  /** How often it was begun, this time included. */
  attempt: number;
  events: number;
}

export type LeasedRuns = ReturnType<typeof leasedRuns>;

const ended = "request = NULL, holder = NULL, lease = NULL";

export function leasedRuns(database: Database, leaseMs = 15_000) {
  const holder = randomUUID();
  const rows = async (...statement: Statement): Promise<Row[]> => (await database.run(statement))[0]!;
  const until = () => database.now() + leaseMs;
  /** Where this server holds the run, so that no other takes it over until these statements are done. */
  const added = (id: string, from: number, events: readonly unknown[]): Statement[] => [
    ["UPDATE coa_responses SET holder = holder WHERE id = $1 AND holder = $2", [id, holder]],
    ...events.map(
      (event, index): Statement => [
        `INSERT INTO coa_events (response, place, event)
        SELECT id, CAST($2 AS INTEGER), $3 FROM coa_responses WHERE id = $1 AND holder = $4`,
        [id, from + index, JSON.stringify(event), holder],
      ],
    ),
  ];
  return {
    /** How long a run is held without being renewed. */
    leaseMs,
    async begin(stored: StoredResponse, model: string, request: Json): Promise<void> {
      const hold = `UPDATE coa_responses SET request = $2, model = $3, holder = $4, lease = $5, attempts = 1 WHERE id = $1`;
      const values = [stored.id, JSON.stringify(request), model, holder, until()];
      await database.run(...insertion(stored, database.now()), [hold, values]);
    },
    /** Takes over a run of this model that no server holds. */
    async take(model: string): Promise<TakenRun | undefined> {
      const now = database.now();
      const [row] = await rows(
        `UPDATE coa_responses SET holder = $1, lease = $2, attempts = attempts + 1
          WHERE id = (SELECT id FROM coa_responses WHERE request IS NOT NULL AND lease < $3 AND model = $4 ORDER BY at LIMIT 1)
            AND lease < $3 RETURNING id, owner, request, response, attempts`,
        [holder, until(), now, model],
      );
      if (!row) return undefined;
      const id = String(row["id"]);
      const [count] = await rows("SELECT count(*) AS n FROM coa_events WHERE response = $1", [id]);
      return {
        id,
        owner: String(row["owner"]),
        request: jsonOf(row, "request"),
        response: jsonOf(row, "response"),
        attempt: Number(row["attempts"]),
        events: Number(count!["n"]),
      };
    },
    /** Holds the runs of this server longer; the ids of all that it still has. */
    async renew(): Promise<Set<string>> {
      const held = await rows("UPDATE coa_responses SET lease = $2 WHERE holder = $1 RETURNING id", [holder, until()]);
      return new Set(held.map((row) => String(row["id"])));
    },
    /** Adds events from this place on, and the response as it is now. */
    async append(id: string, from: number, events: readonly unknown[], response?: Json): Promise<void> {
      const now: Statement = [
        "UPDATE coa_responses SET response = $3 WHERE id = $1 AND holder = $2",
        [id, holder, JSON.stringify(response)],
      ];
      await database.run(...added(id, from, events), ...(response ? [now] : []));
    },
    /** Adds the last events and the response as it ended; false where another server has it. */
    async end(
      { id, owner }: Pick<TakenRun, "id" | "owner">,
      from: number,
      events: readonly unknown[],
      response: Json,
    ): Promise<boolean> {
      const results = await database.run(
        ...added(id, from, events),
        ...itemInsertions(id, owner, objectsOf(response["output"])),
        [
          `UPDATE coa_responses SET response = $3, at = $4, ${ended} WHERE id = $1 AND holder = $2 RETURNING id`,
          [id, holder, JSON.stringify(response), database.now()],
        ],
      );
      return results.at(-1)!.length > 0;
    },
    /** Leaves a run to the next server that looks for one; this try is not counted. */
    async release(id: string): Promise<void> {
      await database.run([
        "UPDATE coa_responses SET holder = NULL, lease = 0, attempts = attempts - 1 WHERE id = $1 AND holder = $2",
        [id, holder],
      ]);
    },
    /** Ends a run, whichever server has it, with this response; false where it has ended. */
    async cancel(id: string, owner: string, response: Json): Promise<boolean> {
      const stopped = await rows(
        `UPDATE coa_responses SET response = $3, at = $4, ${ended}
          WHERE id = $1 AND owner = $2 AND request IS NOT NULL RETURNING id`,
        [id, owner, JSON.stringify(response), database.now()],
      );
      return stopped.length > 0;
    },
    /** Its events from a place on, and whether more may come. */
    async events(id: string, from: number): Promise<{ events: unknown[]; running: boolean }> {
      // In this order: what has ended has all its events.
      const [running, found] = await database.run(
        ["SELECT 1 FROM coa_responses WHERE id = $1 AND request IS NOT NULL", [id]],
        ["SELECT event FROM coa_events WHERE response = $1 AND place >= $2 ORDER BY place LIMIT 1000", [id, from]],
      );
      return { events: found!.map((row) => jsonOf<unknown>(row, "event")), running: running!.length > 0 };
    },
  };
}
