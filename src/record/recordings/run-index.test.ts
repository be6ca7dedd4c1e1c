import assert from "node:assert/strict";
import { mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { answerOf, dayOfCalls, questionOf, taskOf, writeLog } from "../../../test/fixtures/day-of-calls.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { callsToRuns } from "../calls-to-runs.ts";
import { summariseRun } from "../run-summary.ts";
import { exchangeToCall, type WireExchange } from "../wire-exchange.ts";
import { openRunIndex, type RunIndexOptions } from "./run-index.ts";

const root = await mkdtemp(join(tmpdir(), "coa-run-index-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const newFolder = () => mkdtemp(join(root, `f${folders++}-`));
const log = (folder: string, name = "calls-a.jsonl") => join(folder, name);

/** All runs of a folder as the index gives them, and what it said. */
async function indexed(folder: string, options: RunIndexOptions = {}): Promise<{ runs: TeamRun[]; notes: string[] }> {
  const notes: string[] = [];
  const index = await openRunIndex(folder, { ...options, onNote: (note) => notes.push(note) });
  const runs = await Array.fromAsync(index.runs());
  assert.deepEqual(await Array.fromAsync(index.summaries()), JSON.parse(JSON.stringify(runs.map(summariseRun))));
  index.close();
  return { runs, notes };
}

const whole = (exchanges: readonly WireExchange[]) =>
  callsToRuns(
    exchanges.flatMap((one) => exchangeToCall(one) ?? []),
    "proxy",
  );
const plain = (runs: readonly TeamRun[]) => JSON.parse(JSON.stringify(runs)) as TeamRun[];
/** Smaller than the traffic by far: lines must leave and come back. */
const small = { bytes: 60_000, quietMs: 8000 };

/** The user asks again long after the first answer. */
function resumed(user: number, options: Parameters<typeof taskOf>[1]): WireExchange[] {
  const first = taskOf(user, options).at(-1)!;
  const { messages } = first.request as { messages: unknown[] };
  const again = [
    ...messages,
    { role: "assistant", content: answerOf(user) },
    { role: "user", content: `And of the rest of district ${user}?` },
  ];
  const message = { role: "assistant", content: `The rest of district ${user} is younger.` };
  const response = JSON.stringify({ id: `late${user}`, choices: [{ index: 0, message, finish_reason: "stop" }] });
  const [startedAt, endedAt] = [first.startedAt + 9e7, first.endedAt + 9e7];
  return [{ ...first, id: `late-${user}`, startedAt, endedAt, request: { model: "m", messages: again }, response }];
}

describe("the index of recordings", () => {
  for (const runId of [false, true]) {
    it(`gives the runs that reading everything at once gives, however little it holds${runId ? ", with run ids" : ""}`, async () => {
      const options = { everyMs: 700, padding: 600, runId };
      const exchanges = [...dayOfCalls(60, options), ...resumed(3, options), ...resumed(40, options)];
      const folder = await newFolder();
      await writeLog(log(folder), exchanges);
      const { runs, notes } = await indexed(folder, { window: small });
      assert.deepEqual(runs, plain(whole(exchanges)));
      assert.equal(runs.length, runId ? 60 : 62);
      assert.equal(runs[5]!.answer, answerOf(5));
      assert.deepEqual(notes, []);
    });
  }

  it("reads what is new, in one log or several, and joins it with what it belongs to", async () => {
    const options = { everyMs: 700, padding: 100 };
    const exchanges = [...dayOfCalls(12, options)];
    const folder = await newFolder();
    for (const [index, at] of [0, 20, 41, 75].entries()) {
      const piece = exchanges.slice(at, [20, 41, 75, 999][index]);
      await writeLog(log(folder, index === 3 ? "calls-b.jsonl" : "calls-a.jsonl"), piece);
      const { runs } = await indexed(folder);
      assert.deepEqual(runs, plain(whole(exchanges.slice(0, at + piece.length))), `after piece ${index}`);
    }
    const before = await stat(join(folder, "runs.index.sqlite"));
    await indexed(folder);
    assert.equal(
      (await stat(join(folder, "runs.index.sqlite"))).mtimeMs,
      before.mtimeMs,
      "nothing new: nothing written",
    );
    assert.equal(before.mode & 0o777, 0o600);
  });

  it("finds one run by how its id begins without reading the others", async () => {
    const folder = await newFolder();
    await writeLog(log(folder), dayOfCalls(30, { everyMs: 900, runId: true }));
    const index = await openRunIndex(folder);
    assert.deepEqual(
      (await index.find("task-17")).map(({ question }) => question),
      [questionOf(17)],
    );
    assert.equal((await index.find("task-1")).length, 11);
    assert.deepEqual(await index.find("nothing"), []);
    assert.deepEqual(await index.newest(2), ["task-29", "task-28"]);
    index.close();
  });

  it("is made again and says so when it or a log is not what it was", async () => {
    const folder = await newFolder();
    const exchanges = [...dayOfCalls(40, { everyMs: 700, padding: 2000 })];
    await writeLog(log(folder), exchanges);
    const expected = (await indexed(folder)).runs;
    const database = join(folder, "runs.index.sqlite");

    await writeFile(database, "this is not a database, whatever its name says");
    const broken = await indexed(folder);
    assert.deepEqual(broken.runs, expected);
    assert.match(broken.notes.join(), /made again: file is not a database/);

    const { size } = await stat(database);
    const file = await open(database, "r+");
    for (let at = 8192; at < size; at += 4096) await file.write(Buffer.alloc(4000, 0xa5), 0, 4000, at);
    await file.close();
    const torn = await indexed(folder);
    assert.deepEqual(torn.runs, expected);
    assert.equal(torn.notes.length, 1);

    const text = await readFile(log(folder), "utf8");
    await writeFile(log(folder), text.slice(0, text.lastIndexOf("\n", text.length / 2) + 1));
    const shorter = await indexed(folder);
    assert.ok(shorter.runs.length < expected.length);
    assert.match(shorter.notes.join(), /calls-a\.jsonl was changed/);
    await rm(log(folder));
    assert.match((await indexed(folder)).notes.join(), /calls-a\.jsonl is gone/);
  });

  it("leaves a line that is not whole for later", async () => {
    const folder = await newFolder();
    const exchanges = [...dayOfCalls(3, { everyMs: 700 })];
    await writeLog(log(folder), exchanges);
    const text = await readFile(log(folder), "utf8");
    await writeFile(log(folder), text.slice(0, -40));
    assert.equal((await indexed(folder)).runs.length, 3);
    await writeFile(log(folder), text);
    const { runs, notes } = await indexed(folder);
    assert.deepEqual(runs, plain(whole(exchanges)));
    assert.deepEqual(notes, []);
  });

  it("takes twice as long for twice as much, and as long as before for one run", async () => {
    const times: Record<string, number>[] = [];
    for (const users of [300, 600, 1200]) {
      const folder = await newFolder();
      await writeLog(log(folder), dayOfCalls(users, { everyMs: 400, padding: 300 }));
      const cpu = () => process.cpuUsage().user + process.cpuUsage().system;
      let from = cpu();
      const index = await openRunIndex(folder, { window: { bytes: 400_000, quietMs: 20_000 } });
      const [build, bytes] = [cpu() - from, (await stat(join(folder, "runs.index.sqlite"))).size];
      from = cpu();
      for (let round = 0; round < 20; round++) assert.equal((await index.find(`run-none-${round}`)).length, 0);
      times.push({ build, bytes, find: cpu() - from });
      index.close();
    }
    // Wide: a machine under load. Quadratic would be 4 and 16 times as much.
    assert.ok(times[2]!["build"]! < 7 * times[0]!["build"]!, JSON.stringify(times));
    assert.ok(times[2]!["bytes"]! < 6 * times[0]!["bytes"]!, JSON.stringify(times));
    assert.ok(times[2]!["find"]! < 8 * times[0]!["find"]! + 50_000, JSON.stringify(times));
  });
});
