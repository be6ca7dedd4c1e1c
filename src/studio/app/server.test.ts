import assert from "node:assert/strict";
import { before, describe, it, mock } from "node:test";
import { openAt } from "../../../test/studio/address-bar.ts";

describe("how the app gets data", () => {
  let server: typeof import("./server.ts");
  const kept = new Map<string, string>();
  before(async () => {
    openAt("#/runs?token=secret&q=x");
    const localStorage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, to: string) => kept.set(key, to),
    };
    Object.assign(globalThis, { localStorage });
    server = await import("./server.ts");
  });

  it("takes the token out of the address, and brings it to every question", async () => {
    assert.equal(location.hash, "#/runs?q=x");
    const asked: [string, Headers][] = [];
    const fetched = mock.method(globalThis, "fetch", async (path: string, init: RequestInit) => {
      asked.push([path, new Headers(init.headers)]);
      return path.endsWith("none")
        ? Response.json({ error: { message: "not here" } }, { status: 404 })
        : Response.json([1]);
    });
    try {
      assert.deepEqual(await server.askJson("items?kind=run"), [1]);
      assert.equal(asked[0]![0], "./api/items?kind=run");
      assert.equal(asked[0]![1].get("authorization"), "Bearer secret");
      await assert.rejects(server.askJson("none"), /not here/);
    } finally {
      fetched.mock.restore();
    }
  });

  it("reads events however they are cut, also within a character", async () => {
    const bytes = new TextEncoder().encode(': hello\n\ndata: {"text":"é"}\n\ndata: {"text":"b"}\n\ndata: {"te');
    for (const size of [1, 7, 1_000]) {
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.slice(i * size, (i + 1) * size),
      );
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start(stream) {
          for (const part of parts) stream.enqueue(part);
          stream.close();
        },
      });
      const events = await Array.fromAsync(server.eventsOf<{ text: string }>(new Response(body)));
      assert.deepEqual(events, [{ text: "é" }, { text: "b" }], `pieces of ${size}`);
    }
  });

  it("does once what is asked for many times, and nothing once it is forgotten", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      let done = 0;
      const later = server.soon(() => done++, 400);
      for (let times = 0; times < 5; times++) later.ask();
      mock.timers.tick(400);
      assert.equal(done, 1);
      later.ask();
      later.forget();
      mock.timers.tick(400);
      assert.equal(done, 1);
    } finally {
      mock.timers.reset();
    }
  });
});
