import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { wireApis } from "../../src/base/wire/apis.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";
import { readUnrecorded } from "../../src/record/unrecorded.ts";
import { writeRequest } from "../fixtures/wire-requests.ts";
import { startScriptedServer } from "../frameworks/scripted-server.ts";
import { runTeam } from "./team-client.ts";

const root = await mkdtemp(join(tmpdir(), "coa-recorders-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;
const folder = () => join(root, `f${folders++}`);
const teams = wireApis.filter(({ name }) => !/completions$|generate$/.test(name));
const throughProxy = teams.filter(({ name }) => !name.startsWith("bedrock"));

function checkRun(run: TeamRun | undefined): void {
  assert.ok(run);
  assert.deepEqual(
    run.agents.map(({ name }) => name),
    ["manager", "search_agent", "code_agent", "search_agent"],
  );
  assert.equal(run.steps.length, 10);
  assert.equal(run.answer, "Answer: 1990, 5953.");
  assert.equal(refusedForTraining(run), null);
  assert.equal(run.usage.completionTokens, 50);
  assert.ok(run.steps.flatMap((step) => step.toolCalls).every((call) => call.result !== undefined));
}

describe("every API through the proxy", () => {
  for (const api of throughProxy) {
    for (const stream of [false, true]) {
      it(`${api.name}, ${stream ? "streamed" : "whole"}: recorded, and replayed without the server`, async () => {
        const server = await startScriptedServer();
        const where = folder();
        const proxy = await startProxy({ to: server.origin, folder: where });
        assert.equal(await runTeam(api, proxy.origin, stream), "Answer: 1990, 5953.");
        await proxy.close();
        await server.close();
        const runs = await readRecordings(where);
        assert.equal(runs.length, 1);
        checkRun(runs[0]);
        const replay = await startProxy({ mode: "replay", folder: where });
        assert.equal(await runTeam(api, replay.origin, stream), "Answer: 1990, 5953.");
        await replay.close();
      });
    }

    it(`${api.name}: two workers at the same time are linked to their own calls`, async () => {
      const server = await startScriptedServer();
      const where = folder();
      const proxy = await startProxy({ to: server.origin, folder: where });
      assert.equal(await runTeam(api, proxy.origin, true, undefined, "pmanager"), "Answer: 1990, 5953.");
      await proxy.close();
      await server.close();
      const [run, ...others] = await readRecordings(where);
      assert.equal(others.length, 0);
      assert.deepEqual([run?.agents.length, run?.steps.length, run?.answer], [3, 6, "Answer: 1990, 5953."]);
      const delegations = run?.steps[0]?.toolCalls ?? [];
      assert.deepEqual(
        delegations.map(({ name, delegatesTo }) => [name, run?.agents.find(({ id }) => id === delegatesTo)?.name]),
        [
          ["search_agent", "search_agent"],
          ["code_agent", "code_agent"],
        ],
      );
      assert.equal(refusedForTraining(run!), null);
    });

    it(`${api.name}: a budget of calls holds`, async () => {
      const server = await startScriptedServer();
      const proxy = await startProxy({ to: server.origin, folder: folder(), budget: { total: { calls: 2 } } });
      const { path, body } = writeRequest(api, { messages: [{ role: "user", content: "hi" }], tools: [], model: "m" });
      const statuses: number[] = [];
      for (let turn = 0; turn < 9; turn++) {
        const answer = await fetch(proxy.origin + path, { method: "POST", body: JSON.stringify(body) });
        statuses.push(answer.status);
        await answer.text();
      }
      assert.deepEqual(
        statuses.filter((status) => status === 200),
        [200, 200],
      );
      assert.equal(server.count(), 2);
      await proxy.close();
      await server.close();
    });
  }

  it("passes paths on exactly as they were sent, and counts what it does not record", async () => {
    const { createServer } = await import("node:http");
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url ?? "");
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as { port: number };
    const to = (path: string) => `http://127.0.0.1:${port}${path}`;
    const where = folder();
    const cases: [base: string, sent: string, wanted: string][] = [
      ["", "/v1beta/models/gemini-3:generateContent?alt=sse", "/v1beta/models/gemini-3:generateContent?alt=sse"],
      ["", "/api/chat", "/api/chat"],
      ["", "/v1/messages?beta=true", "/v1/messages?beta=true"],
      ["", "/v1/chat/completions", "/v1/chat/completions"],
      ["", "/chat/completions", "/v1/chat/completions"],
      [
        "",
        "/openai/deployments/x/chat/completions?api-version=2",
        "/openai/deployments/x/chat/completions?api-version=2",
      ],
      ["/v1", "/v1/chat/completions", "/v1/chat/completions"],
      ["/v1", "/api/tags", "/api/tags"],
      ["/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"],
      ["/api/v1", "/api/v1/chat/completions", "/api/v1/chat/completions"],
      ["/v1beta/openai", "/v1/models", "/v1beta/openai/models"],
    ];
    for (const [base, sent, wanted] of cases) {
      const proxy = await startProxy({ to: to(base), folder: where });
      const method = /tags|models$/.test(sent) ? "GET" : "POST";
      await (
        await fetch(proxy.origin + sent, { method, ...(method === "POST" && { body: '{"model":"m","messages":[]}' }) })
      ).text();
      await proxy.close();
      assert.equal(seen.at(-1), wanted, `${base} + ${sent}`);
    }
    assert.deepEqual((await readUnrecorded(where)).map(({ what, count }) => [what, count]).sort(), [
      ["GET /api/tags", 1],
      ["GET /v1/models", 1],
      ["POST /v1/messages", 1],
    ]);
  });
});

describe("budgets of parallel teams", () => {
  for (const api of throughProxy) {
    it(`${api.name}: eight workers never overspend, and nobody is refused while tokens are left`, async () => {
      const server = await startScriptedServer();
      const limit = 30_000;
      const budget = { total: { tokens: limit }, prices: { "*": { input: 1, output: 2 } } };
      const where = folder();
      const proxy = await startProxy({ to: server.origin, folder: where, budget });
      const answers = await Promise.all(Array.from({ length: 8 }, () => runTeam(api, proxy.origin, true)));
      assert.deepEqual([...new Set(answers)], ["Answer: 1990, 5953."]);
      const { calls, tokens, usd } = proxy.budget!.spent();
      assert.equal(calls, 80);
      assert.ok(tokens <= limit, `${tokens} of ${limit}`);
      const recorded = await readRecordings(where);
      assert.equal(
        tokens,
        recorded.reduce((sum, run) => sum + run.usage.billedTokens, 0),
      );
      assert.ok(usd > 0);
      await proxy.close();
      await server.close();
    });
  }
});

describe("the preload sees every client", () => {
  const register = join(import.meta.dirname, "../../src/record/register.ts");
  const clients: Record<string, string> = {
    fetch: `const send = async (url, body) => { const r = await fetch(url, { method: "POST", body: JSON.stringify(body) }); return { text: await r.text(), contentType: r.headers.get("content-type") }; };`,
    "node:http": `import { request } from "node:http";
      const send = (url, body) => new Promise((resolve, reject) => { const r = request(url, { method: "POST" }, (answer) => { let text = ""; answer.setEncoding("utf8"); answer.on("data", (chunk) => (text += chunk)); answer.on("end", () => resolve({ text, contentType: answer.headers["content-type"] })); }); r.on("error", reject); r.write(JSON.stringify(body).slice(0, 20)); r.end(JSON.stringify(body).slice(20)); });`,
    undici: `import { request } from "undici";
      const send = async (url, body) => { const r = await request(url, { method: "POST", body: JSON.stringify(body) }); return { text: await r.body.text(), contentType: r.headers["content-type"] }; };`,
  };
  for (const [client, code] of Object.entries(clients)) {
    it(`${client}, in every API, streamed and not`, async () => {
      const server = await startScriptedServer();
      const where = folder();
      const program = `${code}
        const { runTeam } = await import(${JSON.stringify(new URL("team-client.ts", import.meta.url).href)});
        const { wireApis } = await import(${JSON.stringify(new URL("../../src/base/wire/apis.ts", import.meta.url).href)});
        for (const name of ${JSON.stringify(teams.map(({ name }) => name))})
          for (const stream of [false, true])
            console.log(await runTeam(wireApis.find((api) => api.name === name), ${JSON.stringify(server.origin)}, stream, send));`;
      const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", program], {
        cwd: import.meta.dirname,
        env: { ...process.env, COA_RECORD_DIR: where },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      assert.equal(await new Promise((resolve) => child.once("exit", resolve)), 0);
      await server.close();
      assert.equal(said, "Answer: 1990, 5953.\n".repeat(teams.length * 2));
      const runs = await readRecordings(where);
      assert.equal(runs.length, teams.length * 2);
      runs.forEach(checkRun);
    });
  }

  it("says what it could not record: sockets, HTTP/2, unknown paths", async () => {
    const server = await startScriptedServer();
    const where = folder();
    const program = `
      import { connect } from "node:http2";
      const ask = (path) => fetch(${JSON.stringify(server.origin)} + path, { method: "POST", body: JSON.stringify({ model: "m", messages: [] }) });
      await (await ask("/made/up/path")).text();
      await (await ask("/made/up/path")).text();
      const session = connect(${JSON.stringify(server.origin)});
      session.on("error", () => {});
      session.destroy();
      const socket = new WebSocket(${JSON.stringify(server.origin.replace("http", "ws"))});
      await new Promise((resolve) => (socket.onerror = resolve));`;
    const child = spawn(process.execPath, ["--import", register, "--input-type=module", "-e", program], {
      env: { ...process.env, COA_RECORD_DIR: where },
      stdio: ["ignore", "inherit", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk) => (said += chunk));
    assert.equal(await new Promise((resolve) => child.once("exit", resolve)), 0);
    await server.close();
    const host = new URL(server.origin).host;
    assert.match(said, new RegExp(`not recorded: .*POST ${host}/made/up/path \\(2\\)`));
    const counted = (await readUnrecorded(where)).map(({ what, count }) => [what, count]).sort();
    assert.deepEqual(counted, [
      [`POST ${host}/made/up/path`, 2],
      [`http2 ${host}`, 1],
      [`websocket ${host}`, 1],
    ]);
  });
});
