import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createBudget } from "../budget.ts";
import { readRecordings } from "../recordings.ts";
import { readUnrecorded } from "../unrecorded.ts";
import type { WireExchange } from "../wire-exchange.ts";
import { runContext, withRun } from "./run-context.ts";
import { wrapFetch } from "./wrap-fetch.ts";

const root = await mkdtemp(join(tmpdir(), "coa-preload-"));
const event = (content: string) =>
  `data: ${JSON.stringify({ id: "s", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const server = createServer(async (request, response: ServerResponse) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const what = request.headers["x-what"];
  if (what === "refuse") return void response.writeHead(429).end('{"error":{"message":"slow down"}}');
  if (what === "json")
    return void response.setHeader("content-type", "application/json").end(`{"echo":${JSON.stringify(text)}}`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event("half "));
  if (what === "cut") setImmediate(() => response.destroy());
  else if (what !== "hold") response.end(`${event("whole")}data: [DONE]\n\n`);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const url = `${base}/chat/completions`;
after(async () => {
  server.close();
  server.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

function recorder(onProblem?: (error: unknown) => void) {
  const written: WireExchange[] = [];
  const recording = wrapFetch({
    fetch: globalThis.fetch,
    write(exchange) {
      if (onProblem) throw new Error("disk full");
      written.push(exchange);
    },
    runOf: () => runContext.getStore(),
    ...(onProblem && { onProblem }),
  });
  return { fetch: recording, written };
}
const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "my key is topsecretvalue" }] });
const post = (what: string, rest: RequestInit = {}): RequestInit => ({
  method: "POST",
  body,
  headers: { authorization: "Bearer topsecretvalue", "x-what": what },
  ...rest,
});

describe("a fetch that records", () => {
  it("hands on answers as they are, and keeps request and answer without secrets", async () => {
    const { fetch: recording, written } = recorder();
    const response = await recording(url, post("stream"));
    assert.equal(response.url, url);
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(await response.text(), `${event("half ")}${event("whole")}data: [DONE]\n\n`);
    const clone = (await recording(new Request(url, post("json")))).clone();
    assert.deepEqual(await clone.json(), { echo: body });
    await (await recording(new URL(url), post("json", { body: new TextEncoder().encode(body) }))).arrayBuffer();
    assert.equal(written.length, 3);
    assert.ok(written.every(({ recorder, outcome }) => recorder === "preload" && outcome === "complete"));
    assert.doesNotMatch(JSON.stringify(written), /topsecret/);
  });

  it("leaves everything else alone", async () => {
    const { fetch: recording, written } = recorder();
    await (await recording(`${base}/models`, { headers: { "x-what": "json" } })).text();
    await (await recording(`${base}/files`, post("json"))).text();
    await (await recording(url, post("json", { body: "not json" }))).text();
    assert.deepEqual(written, []);
  });

  it("records refusals, cuts, departures and servers that are not there", async () => {
    const { fetch: recording, written } = recorder();
    assert.equal((await recording(url, post("refuse"))).status, 429);
    await assert.rejects(async () => (await recording(url, post("cut"))).text());
    const held = await recording(url, post("hold"));
    const reader = held.body!.getReader();
    await reader.read();
    await reader.cancel();
    const leave = new AbortController();
    const aborted = await recording(url, post("hold", { signal: leave.signal }));
    const reading = aborted.text();
    leave.abort();
    await assert.rejects(reading, { name: "AbortError" });
    await assert.rejects(recording("http://127.0.0.1:9/v1/chat/completions", post("x")));
    const outcomes = written.map(({ outcome, status }) => [outcome, status]);
    assert.deepEqual(outcomes, [
      ["upstream-error", 429],
      ["upstream-cut", 200],
      ["client-disconnect", 200],
      ["client-disconnect", 200],
      ["upstream-error", 0],
    ]);
    assert.match(written[1]!.response, /half/);
  });

  it("follows a run through awaits, and never breaks the app when it can't write", async () => {
    const { fetch: recording, written } = recorder();
    await Promise.all(
      ["a", "b"].map((id) =>
        withRun(id, async () => {
          for (let turn = 0; turn < 3; turn++) await (await recording(url, post("stream"))).text();
        }),
      ),
    );
    assert.deepEqual(written.map(({ runId }) => runId).sort(), ["a", "a", "a", "b", "b", "b"]);
    const problems: unknown[] = [];
    const broken = recorder((error) => problems.push(error));
    assert.match(await (await broken.fetch(url, post("stream"))).text(), /DONE/);
    assert.equal(problems.length, 1);
  });

  it("keeps eight workers to a budget: none is refused while a call fits, and none spends more", async () => {
    const written: WireExchange[] = [];
    const budget = createBudget({ total: { tokens: 400 } });
    const write = (exchange: WireExchange) => written.push(exchange);
    const recording = wrapFetch({ fetch: globalThis.fetch, write, runOf: () => undefined, budget });
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (;;) {
          const answer = await recording(url, post("stream"));
          await answer.text();
          if (answer.status !== 200) return answer.status;
        }
      }),
    );
    assert.deepEqual(new Set(statuses), new Set([402]));
    const { calls, tokens } = budget.spent();
    assert.equal(written.filter(({ status }) => status === 200).length, calls);
    const prompt = Math.ceil(body.length / 3);
    assert.ok(tokens <= 400 && tokens + prompt + 5 > 400, `${tokens} of 400 tokens`);
  });

  it("counts what it can't record, by host and path, and says so at the end", async () => {
    const folder = join(root, "unrecorded");
    const register = join(import.meta.dirname, "../register.ts");
    const code = `
      import { connect } from "node:http2";
      const { host, origin } = new URL(${JSON.stringify(url)});
      for (let n = 0; n < 2; n++) await new Promise((done) => { const s = new WebSocket("ws://" + host + "/v1/realtime"); s.onerror = s.onclose = done; });
      await new Promise((done) => { const s = connect(origin); s.on("error", () => {}); s.on("close", done); s.destroy(); });
      await (await fetch(origin + "/v3/talk", { method: "POST", headers: { "x-what": "json" }, body: JSON.stringify({ model: "m", messages: [] }) })).text();`;
    const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", code], {
      env: { ...process.env, COA_RECORD_DIR: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (chunk) => (errors += chunk));
    assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0, errors);
    const { host } = new URL(url);
    const counts = Object.fromEntries((await readUnrecorded(folder)).map(({ what, count }) => [what, count]));
    assert.deepEqual(counts, { [`websocket ${host}`]: 2, [`http2 ${host}`]: 1, [`POST ${host}/v3/talk`]: 1 });
    assert.match(errors, /not recorded: websocket .*\(2\)/);
  });

  it("has written every answer whose end the app saw, when the app is killed at once", async () => {
    const folder = join(root, "killed");
    const register = join(import.meta.dirname, "../register.ts");
    for (const what of ["stream", "json"]) {
      const code = `const r = await fetch(${JSON.stringify(url)}, { method: "POST", headers: { "x-what": "${what}", authorization: "Bearer topsecretvalue" }, body: ${JSON.stringify(body)} }); await r.text(); process.kill(process.pid, "SIGKILL");`;
      const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", code], {
        env: { ...process.env, COA_RECORD_DIR: folder, COA_RUN: what },
        stdio: "ignore",
      });
      assert.equal(await new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal))), "SIGKILL");
    }
    const runs = await readRecordings(folder);
    assert.deepEqual(runs.map((run) => run.id).sort(), ["json", "stream"]);
    assert.equal(runs.find((run) => run.id === "stream")?.answer, "half whole");
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    assert.doesNotMatch(files.join(""), /topsecret/);
  });
});
