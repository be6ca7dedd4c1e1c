import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openCallStore } from "./call-store.ts";

describe("openCallStore", () => {
  it("asks again for a caller who waited for one who gave up", async () => {
    const store = await openCallStore();
    const gone = Promise.withResolvers<string>();
    const first = store.remember("chat", { model: "m" }, () => gone.promise);
    const second = store.remember("chat", { model: "m" }, async () => "answer");
    gone.reject(new DOMException("the caller left", "AbortError"));
    await assert.rejects(first, { name: "AbortError" });
    assert.equal(await second, "answer");
    assert.deepEqual([store.hits, store.misses], [0, 2]);
    assert.equal(await store.remember("chat", { model: "m" }, () => assert.fail("it is known")), "answer");
  });
});
