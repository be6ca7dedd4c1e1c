/**
 * Stored responses, which clients use again: by id, as the conversation a new one continues, or item by item. A response
 * belongs to its key. It holds its own items alone and names the one before it, so that a conversation is stored once.
 */
import { asString, type Json, objectsOf } from "../../core/json-value.ts";
import { type Database, jsonOf, type Row, type Statement, type Value } from "./database.ts";

export interface StoredResponse {
  id: string;
  owner: string;
  previous?: string;
  response: Json;
  /** The items of its request, with ids; what `item_reference` and the list of input items find. */
  input: Json[];
}

export type ResponseStore = ReturnType<typeof storedResponses>;

const turns = `WITH RECURSIVE turns (id, previous, place) AS (
    SELECT id, previous, 0 FROM coa_responses WHERE id = $1 AND owner = $2
    UNION ALL SELECT r.id, r.previous, t.place + 1 FROM coa_responses r JOIN turns t ON r.id = t.previous WHERE r.owner = $2)
  SELECT r.previous, r.response, r.input, r.request FROM turns t JOIN coa_responses r ON r.id = t.id ORDER BY t.place DESC`;

export function storedResponses(database: Database) {
  const rows = async (...statement: Statement): Promise<Row[]> => (await database.run(statement))[0]!;
  return {
    async save(stored: StoredResponse): Promise<void> {
      await database.run(...insertion(stored, database.now()));
    },
    async find(id: string, owner: string): Promise<StoredResponse | undefined> {
      const [row] = await rows("SELECT previous, response, input FROM coa_responses WHERE id = $1 AND owner = $2", [
        id,
        owner,
      ]);
      if (!row) return undefined;
      const previous = row["previous"] === null ? undefined : String(row["previous"]);
      return { id, owner, previous, response: jsonOf(row, "response"), input: jsonOf<Json[]>(row, "input") };
    },
    /** The items of the whole conversation up to this response; undefined where a part of it was deleted. */
    async conversation(id: string, owner: string): Promise<{ items: Json[]; running: boolean } | undefined> {
      const found = await rows(turns, [id, owner]);
      if (found.length === 0 || found[0]!["previous"] !== null) return undefined;
      const items = found.flatMap((row) => itemsOf(jsonOf(row, "response"), jsonOf<Json[]>(row, "input")));
      return { items, running: found.at(-1)!["request"] !== null };
    },
    /** An input or output item of any stored response of the caller. */
    async item(id: string, owner: string): Promise<Json | undefined> {
      const [row] = await rows(
        `SELECT r.response, r.input FROM coa_items i JOIN coa_responses r ON r.id = i.response
          WHERE i.id = $1 AND i.owner = $2 ORDER BY r.at DESC LIMIT 1`,
        [id, owner],
      );
      return row && itemsOf(jsonOf(row, "response"), jsonOf<Json[]>(row, "input")).find((item) => item["id"] === id);
    },
    async delete(id: string, owner: string): Promise<boolean> {
      const gone = await rows("DELETE FROM coa_responses WHERE id = $1 AND owner = $2 RETURNING id", [id, owner]);
      if (gone.length > 0) await database.tidy();
      return gone.length > 0;
    },
  };
}

export function insertion({ id, owner, previous, response, input }: StoredResponse, now: number): Statement[] {
  const insert = `INSERT INTO coa_responses (id, owner, at, thread, previous, response, input)
    VALUES ($1, $2, $3, coalesce((SELECT thread FROM coa_responses WHERE id = $4), $1), $4, $5, $6)`;
  const values: Value[] = [id, owner, now, previous ?? null, JSON.stringify(response), JSON.stringify(input)];
  return [[insert, values], ...itemInsertions(id, owner, itemsOf(response, input))];
}

/** The statements that let items be found by their own ids, where their response is stored. */
export function itemInsertions(id: string, owner: string, items: readonly Json[]): Statement[] {
  const insert = `INSERT INTO coa_items (owner, id, response)
    SELECT owner, $2, id FROM coa_responses WHERE id = $1 AND owner = $3 ON CONFLICT DO NOTHING`;
  const ids = new Set(items.flatMap((item) => asString(item["id"]) ?? []));
  return [...ids].map((item): Statement => [insert, [id, item, owner]]);
}

function itemsOf(response: Json, input: readonly Json[]): Json[] {
  return [...input, ...objectsOf(response["output"])];
}
