import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { answerOf, dayOfCalls, writeLog } from "../../../test/fixtures/day-of-calls.ts";
import { startModelServer } from "../../../test/fixtures/model-server.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { type RunSummary, startProxy, summariseRun } from "../../record/index.ts";

const main = join(import.meta.dirname, "../main.ts");
const traces = join(import.meta.dirname, "../../../test/fixtures/traces");
const folder = await mkdtemp(join(tmpdir(), "coa-record-cli-"));
after(() => rm(folder, { recursive: true, force: true }));
const coa = (...args: string[]) => command("record", ...args);
const command = (...args: string[]) =>
  promisify(execFile)(process.execPath, [main, ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
  });

/** An app that asks once and leaves at once. */
const app = join(folder, "app.mjs");
await writeFile(
  app,
  `const response = await fetch(process.env.BASE + "/chat/completions", { method: "POST", headers: { authorization: "Bearer sk-secret-secret-secret" }, body: JSON.stringify({ model: "m", stream: process.argv[2] === "stream", messages: [{ role: "user", content: "hello" }] }) });
console.log((await response.text()).length);
process.exit(3);`,
);

describe("coa record", () => {
  it("imports files: numbers with --json, a tree without, runs with --out", async () => {
    const parts = ["006", "007", "008"].map((part) => join(traces, `langsmith.runs-batch.${part}.json`));
    const { stdout } = await coa("import", ...parts, "--json", "--out", "runs.jsonl");
    const [run] = JSON.parse(stdout) as RunSummary[];
    const once = await readFile(join(folder, "runs.jsonl"), "utf8");
    await coa("import", ...parts, "--json", "--out", "runs.jsonl");
    assert.equal(await readFile(join(folder, "runs.jsonl"), "utf8"), once, "the same runs are not written twice");
    assert.deepEqual(
      run?.agents.map(({ name, modelCalls, tokens }) => [name, modelCalls, tokens]),
      [
        ["manager", 4, 1674],
        ["search_agent", 3, 1349],
        ["code_agent", 2, 341],
        ["search_agent", 3, 1334],
      ],
    );
    assert.deepEqual(
      [run?.delegations.length, run?.handoffs.length, run?.ambiguousLinks, run?.modelCalls, run?.toolCalls],
      [3, 0, 0, 12, 5],
    );
    assert.equal(run?.tokens.billed, 1674 + 1349 + 341 + 1334);
    const written = JSON.parse(await readFile(join(folder, "runs.jsonl"), "utf8"));
    assert.deepEqual(summariseRun(written), run);
    const tree = (await coa("import", "runs.jsonl")).stdout;
    assert.match(tree, /^ {2}manager {1,2}4 calls, 1674 tokens$/m);
    assert.match(tree, /^ {6}code_agent {1,2}2 calls, 341 tokens$/m);
    await assert.rejects(coa("import", "runs.jsonl", "--format", "x"), { code: 2 });
  });

  it("runs a program with the recorder in it, lists, shows and exports what it did", async () => {
    const server = await startModelServer({ answer: () => "good day" });
    try {
      for (const how of ["whole", "stream"]) {
        const env = { ...process.env, BASE: server.url };
        const child = spawn(
          process.execPath,
          [main, "record", "run", "--folder", "rec", "--", process.execPath, app, how],
          { cwd: folder, env, stdio: "ignore" },
        );
        const code = await new Promise((resolve) => child.once("exit", resolve));
        assert.equal(code, 3, "the program's own exit code");
      }
    } finally {
      await server.close();
    }
    const list = JSON.parse((await command("show", "rec", "--json")).stdout) as RunSummary[];
    assert.deepEqual(
      list.map(({ question, answer, source }) => [question, answer, source]),
      [
        ["hello", "good day", "preload"],
        ["hello", "good day", "preload"],
      ],
    );
    assert.match((await command("show", "rec")).stdout, /run .*trainable.*\n.*hello/);
    assert.match((await command("show", "rec", list[0]!.id)).stdout, /answer: good day/);
    await assert.rejects(command("show", "rec", "nope"), /no run in rec begins with "nope"/);
    assert.match(
      (await coa("import", "--folder", "rec", "--out", "out.jsonl")).stdout,
      /2 runs, 0 of them not for training, written to out\.jsonl/,
    );
    await command("show", "rec", list[0]!.id, "--out", "one.jsonl");
    assert.equal((await readFile(join(folder, "one.jsonl"), "utf8")).trim().split("\n").length, 1);
    assert.doesNotMatch(await readFile(join(folder, "out.jsonl"), "utf8"), /secret/);
  });

  it("writes each run once: one that has grown since takes the place of what was written", async () => {
    await mkdir(join(folder, "grows"));
    const log = join(folder, "grows/calls-a.jsonl");
    const exchanges = [...dayOfCalls(4, { everyMs: 1000 })];
    for (const [from, to] of [[0, 24], [24, 36]]) {
      await writeLog(log, exchanges.slice(from, to));
      await coa("import", "grows", "--out", "grown.jsonl");
    } // biome-ignore format: one line
    const { stdout } = await coa("import", "grows", "--out", "grown.jsonl");
    assert.match(stdout, /4 runs, 0 of them not for training/);
    const lines = (await readFile(join(folder, "grown.jsonl"), "utf8")).trim().split("\n");
    const runs = lines.map((line) => JSON.parse(line) as TeamRun);
    assert.deepEqual(runs.map(({ answer }) => answer).toSorted(), [0, 1, 2, 3].map(answerOf));
  });

  it("serves as a proxy until it is told to stop", async () => {
    const server = await startModelServer({ answer: () => "yes" });
    const child = spawn(
      process.execPath,
      [
        main,
        "record",
        "proxy",
        "--to",
        server.url,
        "--port",
        "0",
        "--set",
        "record.maxCalls=1",
        "--folder",
        "prox",
        "--json",
      ],
      { cwd: folder, stdio: ["ignore", "pipe", "ignore"] },
    );
    try {
      const { url } = await new Promise<{ url: string }>((resolve) =>
        child.stdout.once("data", (chunk) => resolve(JSON.parse(String(chunk)))),
      );
      const ask = () =>
        fetch(`${url}/chat/completions`, {
          method: "POST",
          body: JSON.stringify({ messages: [{ role: "user", content: "x" }] }),
        });
      assert.equal((await ask()).status, 200);
      assert.equal((await ask()).status, 402);
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGINT");
      await ended;
    } finally {
      child.kill("SIGKILL");
      await server.close();
    }
    const list = JSON.parse((await command("show", "prox", "--json")).stdout) as RunSummary[];
    assert.deepEqual(
      list.map(({ answer, refused }) => [answer, refused]),
      [
        ["yes", null],
        [null, "no-answer: the run has no answer"],
      ],
    );
    await assert.rejects(coa("proxy"), { code: 2 });
    await assert.rejects(coa("proxy", "--to", "http://x", "--max-usd", "1"), /needs prices/);
    await assert.rejects(startProxy({ folder }), /needs `to`, the server/);
  });
});
