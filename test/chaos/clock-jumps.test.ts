/** The machine's clock is set forwards and backwards while work is under way: nothing ends early, nothing waits for days. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { acquireLock } from "../../src/base/files/lock.ts";
import { defineTask } from "../../src/core/task.ts";
import { callers } from "../../src/serve/keys.ts";
import { openServeStore } from "../../src/serve/store/open-store.ts";
import { futures } from "../../src/serve/trainer/futures.ts";
import { trainerModels } from "../../src/serve/trainer/trainer-models.ts";
import { runTeam } from "../../src/team/run-team.ts";
import { politeFetch } from "../../src/tools/crawl/polite-fetch.ts";
import { keyPool } from "../../src/tools/search/request-json.ts";

const day = 24 * 3600_000;
const trueNow = Date.now;
const jump = (ms: number) => {
  Date.now = () => trueNow() + ms;
};
afterEach(() => {
  Date.now = trueNow;
});
const folder = await mkdtemp(join(tmpdir(), "coa-clock-"));
after(() => rm(folder, { recursive: true, force: true }));
const signal = new AbortController().signal; // a wait of a day would be the defect, and the runner would end it

describe("a clock that is set while work is under way", () => {
  for (const [direction, ms] of [["forwards", day] as const, ["backwards", -day] as const]) {
    it(`does not end a team's run, nor make it last less than nothing: ${direction}`, async () => {
      const run = await runTeam(defineTask({ id: "t", question: "How high?", answers: ["812"] }), {
        roles: {
          manager: () => {
            jump(ms);
            return "812";
          },
          default: () => "Supported.\nThe score this time is:4",
        },
        tools: [],
        budget: { wallMs: 3600_000 },
      });
      assert.equal(run.answer, "812");
      assert.ok(run.usage.wallMs >= 0 && run.usage.wallMs < 3600_000, String(run.usage.wallMs));
    });

    it(`keeps the trainer's sessions and results: ${direction}`, async () => {
      const results = futures();
      const models = trainerModels({
        openAdapter: () => Promise.reject(new Error("not here")),
        maxModels: 1,
        maxPolicies: 1,
        sessionTimeoutMs: 300_000,
        register: results.add,
      });
      const session = models.createSession();
      const result = results.add(Promise.resolve({ json: 1 }));
      await results.wait(result, 1_000);
      jump(ms);
      models.createSession(); // which drops sessions that have been silent
      models.heartbeat(session);
      await assert.rejects(models.create(session, 1, { rank: 1, seed: 1 }), /not here/, "the session is known");
      results.add(Promise.resolve({ json: 2 }));
      assert.deepEqual(await results.wait(result, 1_000), { json: 1 });
      await models.close();
    });

    it(`changes no pause between two pages of a host and no rest of a key: ${direction}`, async () => {
      const page = { url: "", status: 200, contentType: "", body: new Uint8Array(), truncated: false };
      const fetchPage = politeFetch(async () => page, { intervalMs: 5 });
      await fetchPage("http://a.example/1", { signal });
      const keys = keyPool("one two");
      keys.rest("one", 1_000_000);
      jump(ms);
      await fetchPage("http://a.example/2", { signal }); // would wait for a day
      assert.deepEqual([keys.next(), keys.next()], ["two", "two"]);
    });

    it(`frees no caller of its limit: ${direction}`, async () => {
      const key = { key: "secret", requestsPerMinute: 1 };
      const store = await openServeStore();
      const { admit, keys } = callers([key], async () => store.counts);
      const ask = () => admit(keys[0]).then(() => true, () => false); // biome-ignore format: one question
      // A minute may end meanwhile, a day may not.
      const answers = [await ask(), await ask(), await ask()];
      jump(ms);
      answers.push(await ask());
      await store.close();
      assert.ok(answers.filter(Boolean).length <= 2, answers.join());
    });

    it(`leaves locks to their owners: ${direction}`, async () => {
      const path = join(folder, `${direction}.lock`);
      const lock = await acquireLock(path);
      jump(ms);
      await assert.rejects(acquireLock(path), new RegExp(`held by process ${process.pid} on ${hostname()}`));
      await lock.release();
    });
  }
});
