/**
 * Two servers over one state behind nginx, of which one after the other is killed while 200 clients work: nothing that a
 * client was told is lost, nothing runs twice that was told to have run, and limits hold.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventsOf } from "../../src/base/http/server-events.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import { noPostgres, startPostgres } from "../fixtures/postgres.ts";
import { noNginx, slowModel, startReplicas } from "../fixtures/replicas.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
const clients = 200;
const kills = 6;
const maxTokens = 6000;
const perMinute = 5;
const keys = [
  { key: "key-of-all", name: "all" },
  { key: "key-of-rate", requestsPerMinute: perMinute },
  { key: "key-of-budget", maxTokensPerDay: maxTokens },
];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A client that sends a request again until it is answered: where a server is busy or gone. */
function client(origin: string, key: string, over: AbortSignal) {
  return async (
    method: string,
    path: string,
    body?: object,
    idempotency?: string,
  ): Promise<{ status: number; text: string; headers: Headers }> => {
    const headers = { authorization: `Bearer ${key}`, ...(idempotency && { "idempotency-key": idempotency }) };
    for (;;) {
      try {
        const sent = { method, headers, signal: over, ...(body && { body: JSON.stringify(body) }) };
        const reply = await fetch(origin + path, sent);
        const text = await reply.text();
        if (reply.status !== 502 && reply.status !== 503 && !text.includes("queue_full"))
          return { status: reply.status, text, headers: reply.headers };
      } catch (error) {
        if (over.aborted) throw error; // else the server was killed in the middle of its answer
      }
      await pause(100);
    }
  };
}

let folder = "";
let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-kill-replicas-"));
  if (!noPostgres) postgres = await startPostgres();
});
after(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const states: Record<string, { skip: string | false; state(): string }> = {
  SQLite: { skip: noNginx, state: () => join(folder, "sqlite/state") },
  PostgreSQL: { skip: noNginx || noPostgres, state: () => postgres!.database() },
};

for (const [name, { skip, state }] of Object.entries(states)) {
  describe(`two servers over ${name} behind nginx`, { skip }, () => {
    it("lose nothing and run nothing twice while they are killed, and keep to limits", async () => {
      const over = new AbortController();
      const { next } = seededRandom(`kill ${name}`);
      const model = await slowModel(() => 20 + next() * 200);
      const replicas = await startReplicas(join(folder, name.toLowerCase()), {
        state: state(),
        model: model.url,
        keys,
      });
      try {
        const ask = client(replicas.origin, "key-of-all", over.signal);
        let killing = true;
        const killer = (async () => {
          for (let count = 0; count < kills; count++) {
            await pause(300 + next() * 2000);
            await replicas.kill(next() < 0.5 ? 0 : 1);
          }
          killing = false;
        })();

        /** What a client was told: responses by id, which of them it deleted, and the key of each. */
        const told = new Map<
          string,
          { key: string; body: object; task: string; response?: Loose; deleted?: boolean }
        >();
        const work = async (who: number): Promise<void> => {
          let previous: string | undefined;
          for (let round = 0; round < 2 || killing; round++) {
            const task = `#task-${who}-${round}`;
            const kind = (who + round) % 3;
            const body = {
              input: `Say ${task}`,
              ...(previous && { previous_response_id: previous }),
              ...(kind === 1 && { stream: true }),
              ...(kind === 2 && { background: true }),
            };
            const { status, text } = await ask("POST", "/v1/responses", body, task);
            assert.equal(status, 200, text);
            const response = kind === 1 ? JSON.parse(eventsOf(text).at(-2)!).response : JSON.parse(text);
            told.set(response.id, { key: task, body, task, ...(kind !== 2 && { response }) });
            if (kind !== 2) {
              assert.equal(response.status, "completed", text);
              if (previous === undefined && who % 10 === 0) {
                assert.ok([200, 404].includes((await ask("DELETE", `/v1/responses/${response.id}`)).status));
                told.get(response.id)!.deleted = true;
              } else previous = response.id;
            }
          }
        };

        const minutes = new Set<number>();
        let letIn = 0;
        let refused = 0;
        const rated = async (): Promise<void> => {
          const send = client(replicas.origin, "key-of-rate", over.signal);
          while (killing) {
            minutes.add(Math.floor(Date.now() / 60_000));
            const { status } = await send("GET", "/v1/models");
            letIn += Number(status === 200);
            refused += Number(status === 429);
            minutes.add(Math.floor(Date.now() / 60_000));
            await pause(20);
          }
        };

        let spent = 0;
        let largest = 0;
        const budgeted = async (): Promise<void> => {
          const send = client(replicas.origin, "key-of-budget", over.signal);
          for (let count = 0; ; count++) {
            const { status, text } = await send("POST", "/v1/responses", { input: `Say #budget-${count}` });
            if (status === 429) return assert.match(text, /insufficient_quota/);
            const { total_tokens: tokens } = JSON.parse(text).usage;
            largest = Math.max(largest, tokens);
            spent += tokens;
          }
        };
        const working = Array.from({ length: clients }, (_, who) => work(who));
        await Promise.all([...working, rated(), rated(), budgeted(), killer]);

        assert.ok(letIn <= perMinute * minutes.size, `${letIn} requests in ${minutes.size} minutes`);
        assert.ok(letIn > 0 && refused > 0, `${letIn} requests were let in, ${refused} were not`);
        assert.ok(spent > 0 && spent < maxTokens + largest, `${spent} tokens of ${maxTokens}`);
        for (const [id, { key, body, task, response, deleted }] of told) {
          const get = () => ask("GET", `/v1/responses/${id}`);
          if (deleted) {
            assert.equal((await get()).status, 404, `${id} was deleted`);
            continue;
          }
          let found = JSON.parse((await get()).text);
          while (found.status === "queued" || found.status === "in_progress") {
            await pause(200);
            found = JSON.parse((await get()).text);
          }
          assert.equal(found.status, "completed", JSON.stringify(found));
          assert.equal(found.output.at(-1).content[0].text, task);
          if (response) assert.deepEqual(found, response);
          const before = model.answered.get(task);
          const again = await ask("POST", "/v1/responses", body, key);
          assert.equal(again.headers.get("idempotent-replayed"), "true", `${key} was told to have run`);
          assert.match(again.text, new RegExp(id));
          assert.equal(model.answered.get(task), before, "it does not run again");
        }
        assert.ok(told.size >= 2 * clients);
      } finally {
        over.abort();
        await replicas.stop();
        await model.close();
      }
    });
  });
}
