/** What a store promises, on each database that it can be in. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { noPostgres, startPostgres } from "../../../test/fixtures/postgres.ts";
import { seededRandom } from "../../base/work/random.ts";
import type { Json } from "../../core/json-value.ts";
import { emptyUsage } from "../../core/usage.ts";
import type { Database } from "./database.ts";
import { openServeStore, type ServeStore, serveStore, storeFile } from "./open-store.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { SuspendedChain } from "./suspended-chains.ts";

const day = 24 * 3_600_000;
const message = (id: string, text: string): Json => ({ id, type: "message", content: text });
const response = (id: string, text: string): Json => ({ id, output: [message(`${id}_out`, text)] });
const chain = (id: string, owner: string): SuspendedChain => ({
  owner,
  session: "s",
  clientTools: [],
  trajectory: { version: 1, id, taskId: "t", profile: "p", model: "m", prompt: [], segments: [], violations: [], answer: null, ending: { reason: "suspended" }, usage: emptyUsage() },
}); // biome-ignore format: one chain

let folder = "";
let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-store-"));
  if (!noPostgres) postgres = await startPostgres();
});
after(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Where a store is, and a database of it that two may open. */
const kinds: Record<string, { skip: string | false; place(): string; open(place: string): Promise<Database> }> = {
  SQLite: {
    skip: false,
    place: () => join(folder, String(Math.random()).slice(2)),
    open: (place) => openSqlite(storeFile(place)),
  },
  PostgreSQL: { skip: noPostgres, place: () => postgres!.database(), open: openPostgres },
};

for (const [name, { skip, place, open }] of Object.entries(kinds)) {
  describe(`a store in ${name}`, { skip }, () => {
    /** Two servers over one store; the clock of both can be set forwards. */
    async function withTwo(use: (one: ServeStore, two: ServeStore, wait: (ms: number) => void) => Promise<void>) {
      const at = place();
      let waited = 0;
      const opened = await Promise.all([open(at), open(at)]);
      const stores = await Promise.all(
        opened.map((database) => serveStore({ ...database, now: () => database.now() + waited })),
      );
      try {
        await use(stores[0]!, stores[1]!, (ms) => (waited += ms));
      } finally {
        for (const store of stores) await store.close();
      }
    }

    it("shows every server what one has stored, and an owner nothing of another's", async () => {
      await withTwo(async (one, two) => {
        const odd = "a \u0000 b \ud800 c 😀 ' \" $1";
        await one.responses.save({
          id: "r1",
          owner: "ada",
          response: response("r1", odd),
          input: [message("i1", "?")],
        });
        const stored = await two.responses.find("r1", "ada");
        assert.deepEqual(stored?.response, response("r1", odd));
        assert.deepEqual(stored?.input, [message("i1", "?")]);
        assert.equal(await two.responses.find("r1", "bob"), undefined);
        assert.equal(await two.responses.conversation("r1", "bob"), undefined);
        assert.equal(await two.responses.item("i1", "bob"), undefined);
        assert.equal(await two.responses.delete("r1", "bob"), false);
        await one.suspended.save(chain("c1", "ada"), "disk");
        assert.equal((await two.suspended.find("c1", "ada"))?.trajectory.id, "c1");
        assert.equal(await two.suspended.find("c1", "bob"), undefined);
        assert.equal(await two.suspended.delete("c1", "bob"), false);
        assert.equal(await two.suspended.delete("c1", "ada"), true);
        assert.equal(await one.suspended.find("c1", "ada"), undefined);
        assert.equal(await one.suspended.delete("c1", "ada"), false);
        const sealed = one.suspended.seal.close({ a: 1 }, "ada")!;
        assert.deepEqual(two.suspended.seal.open(sealed, "ada"), { a: 1 });
      });
    });

    it("keeps a chain whose caller wants nothing stored in memory alone", async () => {
      await withTwo(async (one, two, wait) => {
        await one.suspended.save(chain("c1", "ada"), "memory");
        assert.ok(await one.suspended.find("c1", "ada"));
        assert.equal(await two.suspended.find("c1", "ada"), undefined);
        wait(3_600_001);
        assert.equal(await one.suspended.find("c1", "ada"), undefined);
      });
    });

    it("puts conversations together from turns, with branches, and refuses one with a deleted turn", async () => {
      await withTwo(async (one, two) => {
        const said: Json[] = [];
        for (let turn = 1; turn <= 50; turn++) {
          const [id, asked] = [`r${turn}`, message(`i${turn}`, `question ${turn}`)];
          const previous = turn === 1 ? undefined : `r${turn - 1}`;
          await one.responses.save({
            id,
            owner: "ada",
            previous,
            response: response(id, `answer ${turn}`),
            input: [asked],
          });
          said.push(asked, message(`${id}_out`, `answer ${turn}`));
          assert.deepEqual(await two.responses.conversation(id, "ada"), { items: said, running: false });
        }
        await one.responses.save({ id: "b", owner: "ada", previous: "r10", response: response("b", "x"), input: [] });
        assert.deepEqual((await two.responses.conversation("b", "ada"))?.items, [
          ...said.slice(0, 20),
          message("b_out", "x"),
        ]);
        assert.equal(await two.responses.delete("r20", "ada"), true);
        assert.equal(await one.responses.delete("r20", "ada"), false);
        assert.equal(await one.responses.conversation("r21", "ada"), undefined);
        assert.equal((await one.responses.conversation("b", "ada"))?.items.length, 21);
        assert.ok(await one.responses.find("r21", "ada"));
      });
    });

    it("finds the newest item of a name, and the one before when that is deleted", async () => {
      await withTwo(async (one, two, wait) => {
        for (const id of ["r1", "r2"]) {
          await one.responses.save({ id, owner: "ada", response: response(id, ""), input: [message("i", id)] });
          wait(1);
        }
        assert.deepEqual(await two.responses.item("i", "ada"), message("i", "r2"));
        assert.deepEqual(await two.responses.item("r1_out", "ada"), message("r1_out", ""));
        await two.responses.delete("r2", "ada");
        assert.deepEqual(await one.responses.item("i", "ada"), message("i", "r1"));
      });
    });

    it("deletes while it runs what was not used for 30 days, and keeps whole conversations that were", async () => {
      await withTwo(async (one, two, wait) => {
        const save = (id: string, previous?: string) =>
          one.responses.save({ id, owner: "ada", previous, response: response(id, id), input: [] });
        await save("old");
        await save("first");
        await one.suspended.save(chain("c1", "ada"), "disk");
        wait(20 * day);
        await save("second", "first");
        wait(11 * day);
        assert.equal(await two.clean({ dryRun: true }), 2);
        assert.ok(await two.responses.find("old", "ada"));
        assert.equal(await two.clean(), 2);
        assert.equal(await two.clean(), 0);
        assert.equal(await one.responses.find("old", "ada"), undefined);
        assert.equal(await one.suspended.find("c1", "ada"), undefined);
        assert.equal((await one.responses.conversation("second", "ada"))?.items.length, 2);
      });
    });

    it("stores what many servers write at once, all or nothing of each", async () => {
      await withTwo(async (one, two) => {
        const ids = Array.from({ length: 200 }, (_, index) => `r${index}`);
        const save = (id: string, index: number) =>
          [one, two][index % 2]!.responses.save({
            id,
            owner: "ada",
            response: response(id, id),
            input: [message("i", id)],
          });
        await Promise.all(ids.map(save));
        const found = await Promise.all(ids.map((id, index) => [two, one][index % 2]!.responses.find(id, "ada")));
        assert.deepEqual(
          found.map((one) => one?.id),
          ids,
        );
      });
      const database = await open(place());
      const insert = "INSERT INTO coa_settings VALUES ($1, $2)";
      const failed = database.run([insert, ["a", "1"]], ["INSERT INTO nothing VALUES (1)"]);
      const written = database.run([insert, ["b", "1"]]);
      await assert.rejects(failed, { boundary: "storage" });
      await written;
      const [rows] = await database.run(["SELECT name FROM coa_settings WHERE name IN ('a', 'b')"]);
      assert.deepEqual(
        rows!.map((row) => row["name"]),
        ["b"],
      );
      await database.close();
    });

    it("loses nothing and keeps nothing deleted, while servers save, delete, take runs over and clean at once", async () => {
      await withTwo(async (one, two, wait) => {
        const there = new Map<string, "there" | "being deleted" | "gone">();
        const look = async (store: ServeStore, id: string) => {
          const before = there.get(id);
          const found = (await store.responses.find(id, "ada")) !== undefined;
          // What was changed while it was read may be either.
          if (there.get(id) === before && before !== "being deleted") assert.equal(found, before === "there", id);
        };
        const actor = async (who: number) => {
          const random = seededRandom("store", who);
          let previous: string | undefined;
          for (let round = 0; round < 40; round++) {
            const store = random.pick([one, two]);
            const id = `r-${who}-${round}`;
            const stored = { id, owner: "ada", previous, response: response(id, id), input: [message(`i-${id}`, "?")] };
            const kind = random.below(8);
            if (kind === 0) await store.clean();
            else if (kind === 1) {
              wait(random.below(8_000)); // leases run out
              const taken = await store.runs.take("model");
              if (taken) await store.runs.end(taken, taken.events, [{ n: 1 }], response(taken.id, "done"));
            } else if (kind === 2) await store.runs.begin(stored, "model", {});
            else if (kind === 3 && previous !== undefined) {
              const gone = previous;
              previous = undefined;
              there.set(gone, "being deleted");
              const [first, second] = await Promise.all(
                [one, two].map(({ responses }) => responses.delete(gone, "ada")),
              );
              assert.notEqual(first, second, `${gone} is deleted once`);
              there.set(gone, "gone");
            } else if (kind > 4) await store.responses.save(stored);
            if (kind === 2 || kind > 4) there.set((previous = id), "there");
            const ids = [...there.keys()];
            if (ids.length > 0) await look(random.pick([one, two]), random.pick(ids));
          }
        };
        await Promise.all(Array.from({ length: 24 }, (_, who) => actor(who)));
        for (const store of [one, two]) for (const id of there.keys()) await look(store, id);
        assert.ok([...there.values()].filter((state) => state === "gone").length > 20);
      });
    });

    it("gives a run to one server at a time, and to another when that one is silent", async () => {
      await withTwo(async (one, two, wait) => {
        const stored = { id: "r1", owner: "ada", response: response("r1", ""), input: [] };
        const final = { ...response("r1", "done"), status: "completed" };
        await one.runs.begin(stored, "model", { input: "?" });
        await one.runs.append("r1", 0, [{ n: 0 }, { n: 1 }]);
        assert.equal(await two.runs.take("model"), undefined, "it is held");
        wait(10_000);
        assert.deepEqual([...(await one.runs.renew())], ["r1"]);
        wait(10_000);
        assert.equal(await two.runs.take("model"), undefined, "it was renewed");
        wait(10_000);
        assert.equal(await two.runs.take("other model"), undefined);
        const taken = await Promise.all([two.runs.take("model"), one.runs.take("model"), two.runs.take("model")]);
        const [run, ...others] = taken.filter((each) => each !== undefined);
        assert.equal(others.length, 0, "one of all who ask gets it");
        assert.deepEqual(
          [run!.id, run!.owner, run!.attempt, run!.events, run!.request],
          ["r1", "ada", 2, 2, { input: "?" }],
        );
        const [winner, loser] = run === taken[1] ? [one, two] : [two, one];
        assert.deepEqual([...(await loser.runs.renew())], []);
        await loser.runs.append("r1", 2, [{ n: "late" }]);
        assert.equal(await loser.runs.end(stored, 2, [{ n: "late" }], { ...final, status: "late" }), false);
        await loser.runs.release("r1");
        assert.deepEqual(await loser.runs.events("r1", 1), { events: [{ n: 1 }], running: true });
        assert.equal(await winner.runs.end(stored, 2, [{ n: 2 }], final), true);
        assert.deepEqual(await loser.runs.events("r1", 1), { events: [{ n: 1 }, { n: 2 }], running: false });
        assert.deepEqual((await loser.responses.find("r1", "ada"))?.response, final);
        assert.deepEqual(await loser.responses.item("r1_out", "ada"), message("r1_out", "done"));
        wait(20_000);
        assert.equal(await one.runs.take("model"), undefined, "it has ended");
        wait(600_000);
        await one.clean();
        assert.deepEqual(await two.runs.events("r1", 0), { events: [], running: false });
      });
    });

    it("lets any server cancel or delete a run, and a server that stops leave its own", async () => {
      await withTwo(async (one, two) => {
        for (const id of ["r1", "r2", "r3"])
          await one.runs.begin({ id, owner: "ada", response: response(id, ""), input: [] }, "model", {});
        assert.equal(await two.runs.cancel("r1", "bob", {}), false);
        assert.equal(await two.runs.cancel("r1", "ada", { status: "cancelled" }), true);
        assert.equal(await two.runs.cancel("r1", "ada", {}), false);
        assert.equal(await one.runs.end({ id: "r1", owner: "ada" }, 0, [], { status: "completed" }), false);
        assert.equal((await one.responses.find("r1", "ada"))?.response["status"], "cancelled");
        assert.equal(await two.responses.delete("r2", "ada"), true);
        assert.deepEqual([...(await one.runs.renew())], ["r3"]);
        await one.runs.release("r3");
        assert.equal((await two.runs.take("model"))?.attempt, 1, "a stop is not a failed try");
      });
    });

    it("counts requests of all servers exactly, and what was spent by day, by month and in all", async () => {
      await withTwo(async (one, two, wait) => {
        wait(61_000 - (Date.now() % 60_000)); // a minute has begun, also by the clock of a database
        const takes = Array.from({ length: 120 }, (_, index) => [one, two][index % 2]!.counts.take("ada", 1, 50));
        const taken = (await Promise.all(takes)).flatMap((each) => each.taken ?? []);
        assert.deepEqual(
          taken.sort((a, b) => a - b),
          Array.from({ length: 50 }, (_, index) => index + 1),
        );
        assert.equal((await one.counts.take("bob", 3, 2)).taken, undefined);
        assert.equal((await one.counts.take("bob", 2, 2)).taken, 2);
        wait((await one.counts.take("ada", 1, 50)).restMs);
        assert.equal((await two.counts.take("ada", 1, 50)).taken, 1, "the next minute");
        const spends = Array.from({ length: 40 }, (_, index) =>
          [one, two][index % 2]!.counts.spend("ada", { tokens: 10, usd: 0.25 }),
        );
        await Promise.all(spends);
        const spent = { tokens: 400, usd: 10 };
        assert.deepEqual(await two.counts.spent("ada"), { all: spent, month: spent, day: spent });
        assert.deepEqual((await two.counts.spent("bob")).all, { tokens: 0, usd: 0 });
        await two.counts.spend("bob", { tokens: 1, usd: 0 });
        assert.deepEqual((await one.counts.used("bob")).map(({ requests, tokens }) => [requests, tokens]), [[1, 1], [1, 1]]); // biome-ignore format: month and day
        assert.equal((await one.counts.used()).length, 4);
        wait(31 * day);
        await one.clean();
        const none = { tokens: 0, usd: 0 };
        assert.deepEqual(await two.counts.spent("ada"), { all: spent, month: none, day: none });
      });
    });

    it("gives an idempotency key to one server at a time, and its answer to all", async () => {
      await withTwo(async (one, two, wait) => {
        const reply = { status: 200, headers: { a: "b" }, body: "said \u0000", form: "text" as const };
        const claims = await Promise.all([one, two, one, two].map((store) => store.replies.claim("key", "body")));
        assert.deepEqual(claims.sort(), ["busy", "busy", "busy", "mine"]);
        assert.equal(await two.replies.claim("key", "another body"), "other");
        const holds = async (store: ServeStore) => {
          await store.replies.renew("key");
          wait(14_000);
          return (await store.replies.claim("key", "body")) === "busy";
        };
        const [holder, other] = (await holds(one)) && (await holds(one)) ? [one, two] : [two, one];
        wait(16_000);
        assert.equal(await other.replies.claim("key", "body"), "mine", "its server is silent");
        assert.equal(await holder.replies.finish("key", reply), false);
        await holder.replies.forget("key");
        assert.equal(await other.replies.finish("key", reply), true);
        assert.deepEqual(await holder.replies.claim("key", "body"), reply);
        await other.replies.forget("key");
        assert.deepEqual(await other.replies.claim("key", "body"), reply, "what is kept is not forgotten");
        assert.equal(await one.replies.claim("second", "body"), "mine");
        await one.replies.forget("second");
        assert.equal(await two.replies.claim("second", "body"), "mine");
        wait(day + 1);
        assert.equal(await one.replies.claim("key", "another body"), "mine", "a day later");
      });
    });

    it("refuses a state that another version wrote", async () => {
      const at = place();
      const database = await open(at);
      await database.run(["UPDATE coa_settings SET value = '99' WHERE name = 'version'"]);
      await database.close();
      await assert.rejects(openServeStore(at), /version 99/);
    });
  });
}

describe("the file of a store", () => {
  it("is for its user alone, forgets what was deleted, and grows with what is said, not with its square", async () => {
    const at = join(folder, "file");
    const store = await openServeStore(at);
    const text = "secret-of-ada ".repeat(1500);
    const size = async () => (await stat(storeFile(at))).size;
    const sizes: number[] = [];
    for (let turn = 0; turn < 40; turn++) {
      const previous = turn === 0 ? undefined : `r${turn - 1}`;
      const [id, input] = [`r${turn}`, [message(`i${turn}`, text)]];
      await store.responses.save({ id, owner: "ada", previous, response: response(id, "ok"), input });
      if (turn % 20 === 19) {
        await store.clean();
        sizes.push(await size());
      }
    }
    assert.ok(sizes[1]! < 2.2 * sizes[0]!, sizes.join());
    for (const name of await readdir(at)) assert.equal((await stat(join(at, name))).mode & 0o777, 0o600, name);
    for (let turn = 0; turn < 40; turn++) assert.equal(await store.responses.delete(`r${turn}`, "ada"), true);
    for (const name of await readdir(at))
      assert.ok(!(await readFile(join(at, name))).includes("secret-of-ada"), `${name} holds what was deleted`);
    assert.ok((await size()) < sizes[0]! / 4, "its room is free again");
    await store.close();
  });

  it("keeps in memory nothing of what it stores", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const store = await openServeStore(join(folder, "memory"));
    const text = "x".repeat(20_000);
    const save = (id: string) => store.responses.save({ id, owner: "ada", response: response(id, text), input: [] });
    const used = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    for (let round = 0; round < 2; round++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => save(`a${round}-${n}`)));
    const before = used();
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => save(`b${round}-${n}`)));
    const grown = used() - before;
    assert.ok(grown < 4e6, `1,000 responses of 20 kB took ${grown} bytes of the heap`);
    await store.close();
  });

  it("says what is wrong when it is damaged", async () => {
    const at = join(folder, "damaged");
    await (await openServeStore(at)).close();
    await writeFile(storeFile(at), "not a database, but long enough to be one ".repeat(200));
    await assert.rejects(openServeStore(at), /the server's state in .*state\.sqlite: .*not a database/);
  });
});

describe("a store in PostgreSQL", () => {
  it("is refused by name where no server answers", { skip: noPostgres }, async () => {
    await assert.rejects(openServeStore("postgres://coa@127.0.0.1:9/none"), /the server's state in PostgreSQL: /);
  });
});
