/** A PostgreSQL database, for several servers behind one address. Its clock counts, not that of a server. */
import { loadPeer } from "../../base/work/optional-peer.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import { type Database, type Row, type Statement, schema, schemaVersion } from "./database.ts";

/** What we use of the package `pg`, which is installed only where it is needed. */
interface Client {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
  release(error?: unknown): void;
}
interface Pool extends Omit<Client, "release"> {
  connect(): Promise<Client>;
  on(event: "error", listener: (error: Error) => void): void;
  end(): Promise<void>;
}
type PoolMaker = new (options: Record<string, unknown>) => Pool;

const maxConnections = 10;
const maxAttempts = 5;

/** Opens the database of a `postgres://` address. */
export async function openPostgres(address: string): Promise<Database> {
  const name = "pg";
  const loaded = (await loadPeer(name, () => import(name))) as { default: { Pool: PoolMaker } };
  const pool = new loaded.default.Pool({ connectionString: address, max: maxConnections, application_name: "coa" });
  pool.on("error", () => {}); // an idle connection was cut: the next request opens another
  let offsetMs = 0;

  async function run(...statements: readonly Statement[]): Promise<Row[][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(statements);
      } catch (error) {
        // Two that wait for each other: one was rolled back whole, and may try again.
        if ((error as { code?: unknown }).code === "40P01" && attempt < maxAttempts) continue;
        throw new CoaError("storage", `the server's state in PostgreSQL: ${messageOf(error)}`, { cause: error });
      }
    }
  }

  async function once(statements: readonly Statement[]): Promise<Row[][]> {
    if (statements.length === 1) return [(await pool.query(...statements[0]!)).rows];
    const client = await pool.connect();
    try {
      const rows: Row[][] = [];
      await client.query("BEGIN");
      for (const statement of statements) rows.push((await client.query(...statement)).rows);
      await client.query("COMMIT");
      client.release();
      return rows;
    } catch (error) {
      client.release(error); // closed, which rolls back
      throw error;
    }
  }

  async function readClock(): Promise<void> {
    const [[row]] = (await run(["SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now"])) as [Row[]];
    offsetMs = Number(row!["now"]) - steadyNow();
  }

  const tables = schema.map((text): Statement => [text]);
  const version = `INSERT INTO coa_settings VALUES ('version', '${schemaVersion}') ON CONFLICT DO NOTHING`;
  try {
    // Of servers that start at once one makes the tables; later ones leave them alone, because others are using them.
    const [[made]] = (await run(["SELECT to_regclass('coa_settings') AS name"])) as [Row[]];
    if (made!["name"] === null) await run(["SELECT pg_advisory_xact_lock(4242)"], ...tables, [version]);
    await readClock();
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { run, tidy: readClock, now: () => steadyNow() + offsetMs, close: () => pool.end() };
}
