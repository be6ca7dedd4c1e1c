import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { budgets, jsonExcess } from "../../core/budget.ts";
import { httpClient } from "./http-client.ts";
import { eventsOf, serverEvents } from "./server-events.ts";

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("jsonExcess", () => {
  it("counts lists, objects and levels outside of texts", () => {
    const small = { items: 3, depth: 2 };
    assert.equal(jsonExcess('{"a":[1,2],"b":"[[[[{{{\\"[[","c":{}}', small), undefined);
    assert.equal(jsonExcess('{"a":[1,2],"b":[],"c":{}}', small), "has more than 3 lists and objects");
    assert.equal(jsonExcess("[[[]]]", small), "is nested more than 2 levels deep");
    assert.equal(jsonExcess('["\\\\\\\\",[],[]]', small), undefined);
    assert.equal(jsonExcess('["\\\\\\\\",[],[],[]]', small), "has more than 3 lists and objects");
    assert.equal(jsonExcess('["not closed [[[[', small), undefined);
  });
});

describe("an answer of another server", () => {
  it("is refused over its budget while it arrives, by bytes, by parts and by the length of an event", async () => {
    let written = 0;
    const server = createServer(async (request, response) => {
      response.writeHead(request.url === "/error" ? 500 : 200);
      if (request.url === "/parts") return response.end("[".repeat(100_000));
      for (let count = 0; count < 400 && !response.destroyed; count++) {
        written++;
        if (!response.write("x".repeat(2 ** 20)))
          await new Promise((go) => response.once("drain", go).once("close", go));
      }
      response.end();
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = httpClient({ retries: 0 });
    const small = httpClient({ retries: 0, maxBytes: 1000 });
    try {
      const get = (path: string, by = client) => by.send("GET", url + path, undefined, {});
      await assert.rejects((await get("/")).text(), /the answer has more than 67108864 bytes/);
      assert.ok(written < 300, `${written} MB were taken`);
      await assert.rejects((await get("/")).bytes(), /more than 67108864 bytes/);
      await assert.rejects(Array.fromAsync((await get("/", small)).chunks), /more than 1000 bytes/);
      await assert.rejects((await get("/parts")).text(), /the answer is nested more than 200 levels deep/);
      await assert.rejects(Array.fromAsync(serverEvents((await get("/")).chunks)), /an event has more than 16777216/);
      await assert.rejects(get("/error"), /HTTP 500: x{300}$/);
    } finally {
      await client.close();
      await small.close();
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("events of a stream", () => {
  it("are the same however the bytes are cut", async () => {
    const text = 'data: {"a":1}\r\n\r\nevent: x\ndata: one\ndata: two\n\n: ping\n\ndata:\r\rdata: é🙂\n\ndata: last';
    const whole = ['{"a":1}', "one\ntwo", "", "é🙂", "last"];
    assert.deepEqual(eventsOf(text), whole);
    for (let size = 1; size < 12; size++)
      assert.deepEqual(await Array.fromAsync(serverEvents(pieces(text, size))), whole);
  });

  it("take time in proportion to a long line", async () => {
    const spent = async (length: number) => {
      const from = process.cpuUsage();
      await Array.fromAsync(serverEvents(pieces(`data: ${"x".repeat(length)}\n\n`, 4096)));
      const { user, system } = process.cpuUsage(from);
      return user + system;
    };
    await spent(2 ** 20);
    const [short, long] = [await spent(budgets.event.bytes / 8), await spent(budgets.event.bytes - 100)];
    assert.ok(long < 32 * Math.max(short, 2000), `${short} and ${long} microseconds`);
  });
});
