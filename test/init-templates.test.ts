/** `coa init --template`: each example works as it stands, with what is printed to be typed next. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { coa, coaWith } from "./fixtures/run-coa.ts";

const start = process.cwd();
const home = process.env["COA_HOME"];
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-template-"));
  process.chdir(folder);
  delete process.env["COA_HOME"];
});
after(async () => {
  process.chdir(start);
  if (home !== undefined) process.env["COA_HOME"] = home;
  await rm(folder, { recursive: true, force: true });
});

describe("coa init --template", () => {
  it("begins with an example that works: documents, traces, a client of a server", async () => {
    const docs = await coa("init", "--template", "docs");
    const traces = await coa("init", "--template", "traces");
    assert.match(docs.stdout, /made harbours\n/);
    assert.match((await coa("index", "build", "harbours")).stdout, /60 passages/);
    for (const { stderr } of [docs, traces]) {
      const [line = ""] = /(?<=next: coa ).*?(?= \(|$)/m.exec(stderr) ?? [];
      process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"; // a dry run asks no model
      const { code, stdout } = await coa(...line.replace(" --dry-run", "").split(" "), "--dry-run");
      delete process.env["OPENAI_BASE_URL"];
      assert.equal(code, 0);
      assert.match(stdout, /train: teach it the chains/);
    }
    const { stderr } = await coa("init", "--template", "serve");
    assert.match(stderr, /next: coa serve --lab 7 --port 4242/);
    const stop = new AbortController();
    const { promise: url, resolve } = Promise.withResolvers<string>();
    const heard = (text: string) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(`${found[0]}/v1`);
    };
    const served = coaWith({ signal: stop.signal, heard }, "serve", "--lab", "7", "--port", "0");
    const OPENAI_BASE_URL = await Promise.race([url, served.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
    const client = spawn(process.execPath, ["client.mjs"], { env: { ...process.env, OPENAI_BASE_URL } });
    assert.match(await text(client.stdout), /Dozimu/);
    stop.abort();
    assert.equal((await served).code, 0);
    assert.deepEqual(JSON.parse((await coa("init", "--template", "serve", "--json")).stdout).made, []);
  });
});
