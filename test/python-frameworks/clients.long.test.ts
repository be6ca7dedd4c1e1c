import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { it } from "node:test";
import { apiOf } from "../../src/base/wire/apis.ts";
import { writeReply } from "../../src/base/wire/reply-writer.ts";
import type { Json } from "../../src/core/json-value.ts";
import { readCallLogs } from "../../src/record/call-log.ts";
import { exchangeToCall } from "../../src/record/wire-exchange.ts";
import { coa } from "../fixtures/run-coa.ts";
import { clients, pythonOf } from "./frameworks.ts";

const skip = pythonOf(clients) ? false : "the HTTP clients are not installed below COA_PYTHON_VENVS";

it("follows every HTTP client of Python, threads and processes", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "coa-python-clients-"));
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Json;
    const api = apiOf(request.url ?? "", body)!;
    const text = `seen ${api.readRequest(body, request.url ?? "").messages.at(-1)?.content}`;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(writeReply(api, { text, toolCalls: [], finish: "stop", finished: true })));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  process.env["TEST_SERVER"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const program = join(import.meta.dirname, "apps/clients.py");
    const { code, stderr } = await coa(
      "record",
      "run",
      "--set",
      `record.folder=${folder}`,
      "--",
      pythonOf(clients)!,
      program,
    );
    assert.equal(code, 0, stderr);
    const calls = (await Array.fromAsync(readCallLogs(folder))).map((exchange) => exchangeToCall(exchange)!);
    const said = calls.map((call) => call.messages.at(-1)?.content);
    const inTurn = ["urllib", "httpx", "httpx2", "requests", "urllib3", "aiohttp", "botocore", "thread", "executor"];
    assert.deepEqual(said, [...inTurn, "child", "pool"]);
    assert.ok(calls.every(({ recorder, text }, index) => recorder === "preload" && text === `seen ${said[index]}`));
    const before = new Map(calls.map(({ id }, index) => [id, said[index]]));
    assert.deepEqual(
      calls.slice(0, inTurn.length).map(({ after }) => before.get(after ?? "")),
      [undefined, ...inTurn.slice(0, -1)],
    );
    assert.deepEqual(
      calls.slice(inTurn.length).map(({ runId }) => runId),
      ["ticket", "ticket"],
    );
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
