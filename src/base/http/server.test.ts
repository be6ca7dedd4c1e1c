import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { endlessMs } from "../../../test/fixtures/until.ts";
import { checkOrigin, keyFinder, keyOf } from "./access.ts";
import { type Guarded, guarded } from "./guard.ts";
import { type Handler, replyJson } from "./handler.ts";
import { listen } from "./listen.ts";
import { Refusal } from "./refusal.ts";

const table = guarded(
  {
    "GET /health": () => ({ ok: true }),
    "POST /echo": ({ json }) => json(),
    "GET /items/{id}/parts/{part}": ({ request }) => request.params,
    "GET /count": async ({ request, reply }) => {
      const writer = reply.stream(200, { "content-type": "text/plain" });
      for (let index = 0; index < Number(request.query.get("to")); index++) await writer.write(`${index}\n`);
      writer.end();
    },
  },
  { maxBodyBytes: 1000, errorBody: ({ message }) => ({ error: { message } }) },
);

/** Both faces of one handler, each asked through `fetch`. */
async function faces(
  served: Guarded,
  use: (ask: (path: string, init?: RequestInit) => Promise<Response>) => Promise<void>,
) {
  const server = await listen(served);
  try {
    await use((path, init) => fetch(server.origin + path, init));
  } finally {
    await server.close();
  }
  await use((path, init) => served.fetch(new Request(`http://localhost${path}`, init)));
}

describe("a handler", () => {
  it("answers alike through both faces", async () => {
    await faces(table, async (ask) => {
      assert.deepEqual(await (await ask("/health")).json(), { ok: true });
      assert.deepEqual(await (await ask("/items/a%2Fb/parts/2")).json(), { id: "a/b", part: "2" });
      const echo = await ask("/echo", { method: "POST", body: '{"a":1}' });
      assert.deepEqual(await echo.json(), { a: 1 });
      const body = gzipSync('{"b":2}');
      const packed = await ask("/echo", { method: "POST", body, headers: { "content-encoding": "gzip" } });
      assert.deepEqual(await packed.json(), { b: 2 });
      const lines = (await (await ask("/count?to=20000")).text()).trim().split("\n");
      assert.equal(lines.length, 20_000);
      assert.equal(lines.at(-1), "19999");
    });
  });

  it("gives up a reader that takes nothing, and tells its writer", async () => {
    const left = Promise.withResolvers<unknown>();
    const handler: Handler = async (request, reply) => {
      const writer = reply.stream(200, { "content-type": "text/plain" });
      while (!request.signal.aborted) await writer.write("x".repeat(1_000_000));
      left.resolve(request.signal.reason);
    };
    const server = await listen(handler, { stallMs: 20 });
    const socket = connect(server.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    socket.pause().on("error", () => {});
    assert.equal(((await left.promise) as Error).message, "the client left");
    socket.destroy();
    await server.close();
  });

  it("refuses what it can't take, with the status that says so", async () => {
    await faces(table, async (ask) => {
      const status = async (path: string, init?: RequestInit) => (await ask(path, init)).status;
      assert.equal(await status("/nothing"), 404);
      assert.equal(await status("/echo"), 405);
      assert.equal(await status("/items//parts/2"), 404);
      assert.equal(await status("/items/%E0%A4%A/parts/2"), 404);
      assert.equal(await status("/echo", { method: "POST", body: "{" }), 400);
      assert.equal(await status("/echo", { method: "POST", body: " ".repeat(2000) }), 413);
      const bomb = gzipSync(Buffer.alloc(100_000));
      assert.equal(await status("/echo", { method: "POST", body: bomb, headers: { "content-encoding": "gzip" } }), 413);
    });
  });

  it("is told when the client leaves, and a slow reader slows it", async () => {
    const seen = Promise.withResolvers<number>();
    const server = await listen(async (request, reply) => {
      const writer = reply.stream(200, { "content-type": "text/plain" });
      let written = 0;
      while (!request.signal.aborted && written < 1e9) {
        await writer.write("x".repeat(65_536));
        written += 65_536;
      }
      seen.resolve(written);
    });
    const socket = connect(server.port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "readable"); // nothing more is read
    socket.destroy();
    assert.ok((await seen.promise) < 1e9);
    await server.close();
  });
});

describe("listen", () => {
  it("waits for what is under way when it drains, and takes nothing new", async () => {
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const server = await listen(async (_request, reply) => {
      begun.resolve();
      await finish.promise;
      replyJson(reply, 200, { done: true });
    });
    const answer = fetch(server.origin);
    await begun.promise;
    const drained = server.drain(endlessMs);
    await assert.rejects(fetch(`${server.origin}/new`));
    finish.resolve();
    assert.deepEqual(await (await answer).json(), { done: true });
    await drained;
    assert.equal(server.pending(), 0);
  });

  it("says which port is taken", async () => {
    const server = await listen(table);
    await assert.rejects(listen(table, { port: server.port }), /can't listen: .*EADDRINUSE/);
    await server.close();
  });
});

describe("access", () => {
  const check = (headers: Record<string, string>, options = {}) => checkOrigin((name) => headers[name], options);

  it("refuses foreign pages and names bent to this machine", () => {
    check({ host: "127.0.0.1:4242" });
    check({ host: "localhost:4242", origin: "http://localhost:4242" });
    check({ host: "[::1]:4242" });
    check({ host: "localhost:1", origin: "https://app.example" }, { origins: ["https://app.example"] });
    check({ host: "coa.internal:80" }, { hosts: ["coa.internal"] });
    const foreign: Record<string, string>[] = [
      { host: "localhost:4242", origin: "https://evil.example" },
      { host: "localhost:4242", origin: "null" },
      { host: "localhost:4242", origin: "http://localhost:9999" },
      { host: "evil.example:4242" },
      { host: "127.0.0.1.evil.example" },
    ];
    for (const headers of foreign) assert.throws(() => check(headers), Refusal, JSON.stringify(headers));
  });

  it("finds a key among many, and no other", () => {
    const find = keyFinder([
      { key: "alpha", name: "a" },
      { key: "beta", name: "b" },
    ]);
    assert.equal(find("beta")?.name, "b");
    assert.equal(find("bet"), undefined);
    assert.equal(
      keyOf((name) => ({ authorization: "Bearer beta" })[name as "authorization"]),
      "beta",
    );
    assert.equal(
      keyOf((name) => ({ "x-api-key": "alpha" })[name as "x-api-key"]),
      "alpha",
    );
    assert.equal(
      keyOf(() => undefined),
      undefined,
    );
  });
});
