/** Many users of one recorded program at once, or one after another: no run may hold a call of another user. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { TeamRun } from "../../src/core/team-run.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";

const register = join(import.meta.dirname, "../../src/record/register.ts");
const app = join(import.meta.dirname, "many-users-app.mjs");

interface Served {
  number: number;
  used: string[];
  answer: string;
}

/** A model whose replies depend on the role alone, and on who is asking where that is said. */
async function startModel(): Promise<{ url: string; close(): void }> {
  let number = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { messages } = JSON.parse(text) as { messages: { role: string; content: string }[] };
    const id = `reply-${++number}`;
    const system = messages[0]!.content;
    const who = /user \d+/.exec(text)?.[0] ?? "all";
    const isFirst = !messages.some(({ role }) => role === "assistant");
    const call = (name: string, input: object) => ({
      content: "",
      tool_calls: [{ id: `${id}-call`, type: "function", function: { name, arguments: JSON.stringify(input) } }],
    });
    const replies: [RegExp, object][] = [
      [/manager/, isFirst ? call("worker", { task: `Look up the days of leave${who === "all" ? "" : ` of ${who}`}.` }) : { content: `Five days carry over for ${who}.` }],
      [/worker/, isFirst ? call("search", { query: "leave" }) : { content: `The page names five days for ${who}.` }],
      [/router/, { content: "personnel" }],
      [/lawyer|accountant/, { content: `As ${system} I find that five days are due to ${who} by the rules.` }],
      [/./, { content: `It is five days for ${who}.` }],
    ]; // biome-ignore format: one role a line
    const message = { role: "assistant", ...replies.find(([role]) => role.test(system))![1] };
    for (let turn = number % 7; turn > 0; turn--) await setImmediate();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: 9, completion_tokens: 9 } })); // biome-ignore format: one reply
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Checks that every run holds calls of one user, and that as many users as `whole` have their run, with its answer. */
function check(runs: readonly TeamRun[], served: readonly Served[], whole: (number: number) => boolean): void {
  const owner = new Map(served.flatMap(({ number, used }) => used.map((id) => [id, number] as const)));
  const right = new Set<number>();
  for (const run of runs) {
    const owners = new Set(run.steps.map(({ responseId = "" }) => owner.get(responseId)));
    const why = refusedForTraining(run);
    if (why === null) assert.equal(owners.size, 1, `run ${run.id} holds calls of ${[...owners]}`);
    const [number = -1] = owners;
    const { used, answer } = served.find((one) => one.number === number)!;
    if (why !== null || owners.size > 1) continue;
    assert.deepEqual(run.steps.map(({ responseId }) => responseId).toSorted(), used.toSorted(), `user ${number}: torn`);
    assert.equal(run.answer, answer);
    right.add(number);
  }
  const missing = served.filter(({ number }) => whole(number) && !right.has(number));
  const refusals = runs.flatMap((run) => refusedForTraining(run) ?? []);
  assert.deepEqual(
    missing.map(({ number }) => number).slice(0, 8),
    [],
    `refused: ${[...new Set(refusals)].join("; ")}`,
  );
}

/** The tests with so many users. */
export function testManyUsers(users: number): void {
  describe(`${users} users of one recorded program`, () => {
    const folders: string[] = [];
    const newFolder = async () => folders[folders.push(await mkdtemp(join(tmpdir(), "coa-users-"))) - 1]!;
    after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

    async function serveAll(env: Record<string, string>, preload: boolean): Promise<Served[]> {
      const child = spawn(process.execPath, [...(preload ? ["--import", register] : []), app, "serve"], {
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        const port = await new Promise((done) => child.stdout.once("data", (text) => done(String(text).trim())));
        return await Promise.all(
          Array.from({ length: users }, async (_, number) => {
            const response = await fetch(`http://127.0.0.1:${port}/${number}`);
            return (await response.json()) as Served;
          }),
        );
      } finally {
        const ended = new Promise((done) => child.once("exit", done));
        child.kill("SIGTERM");
        await ended;
      }
    }

    it("at once through a server with the recorder in it, all asking the same: each request is its run", async () => {
      const [model, folder] = [await startModel(), await newFolder()];
      try {
        const served = await serveAll({ MODEL: model.url, COA_RECORD_DIR: folder }, true);
        check(await readRecordings(folder), served, () => true);
      } finally {
        model.close();
      }
    });

    for (const named of [true, false]) {
      it(`at once through one proxy without run ids, ${named ? "each with a name" : "all asking the same"}: no run holds another's call`, async () => {
        const [model, folder] = [await startModel(), await newFolder()];
        const proxy = await startProxy({ to: model.url, folder });
        try {
          const served = await serveAll({ MODEL: proxy.url.replace(/\/v1$/, ""), NAMED: named ? "1" : "0" }, false);
          check(await readRecordings(folder), served, (number) => named && number % 4 === 0);
        } finally {
          await proxy.close();
          model.close();
        }
      });
    }

    // Jobs of different teams after each other may be steps of one task: those are refused.
    for (const [first, step] of [[0, 1], [0, 4], [1, 4], [2, 4], [3, 4]] as const) {
      it(`one after another in one process, ${step === 1 ? "of all teams" : `of team ${first}`}: no job holds a call of another`, async () => {
        const [model, folder] = [await startModel(), await newFolder()];
        try {
          const child = spawn(process.execPath, ["--import", register, app, "jobs", ...[first, users, step].map(String)], {
            env: { ...process.env, MODEL: model.url, COA_RECORD_DIR: folder, NAMED: "1" },
            stdio: ["ignore", "pipe", "inherit"],
          });
          const served: Served[] = [];
          for await (const line of createInterface({ input: child.stdout })) served.push(JSON.parse(line));
          assert.equal(served.length, users / step);
          check(await readRecordings(folder), served, () => step === 4);
        } finally {
          model.close();
        }
      });
    } // biome-ignore format: one table
  });
}
