/** Two minutes of the soak: traffic of every kind, an upstream that fails, clients that leave, a server that is killed. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { soak } from "../bench/soak/soak.ts";
import { noPostgres, startPostgres } from "./fixtures/postgres.ts";

let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
before(async () => {
  if (!noPostgres) postgres = await startPostgres();
});
after(() => postgres?.stop());

const states = { SQLite: false, PostgreSQL: noPostgres } as const;

describe("a soak", () => {
  for (const [name, skip] of Object.entries(states)) {
    it(`loses nothing and leaves nothing hanging over ${name}`, { skip }, async (t) => {
      const state = name === "SQLite" ? undefined : postgres!.database();
      const { told, kills, calls, slope, underWay } = await soak({ minutes: 1, state });
      t.diagnostic(JSON.stringify({ requests: told.requests, kills, calls, slope }));
      assert.deepEqual(told.hung, []);
      assert.deepEqual(told.lost, []);
      assert.equal(underWay, 0, "chains are under way when all clients have left");
      for (const count of [kills, told.left, told.cut, told.stored.size, calls["error"]!, calls["silent"]!])
        assert.ok(count > 0, "the traffic has every kind");
    });
  }
});
