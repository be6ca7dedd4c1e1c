import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pagePool } from "./session-cache.ts";

const memory = (maximum: number) => new WebAssembly.Memory({ initial: 1, maximum, shared: true });

describe("pagePool", () => {
  it("hands out pages that do not overlap, grows the memory under them, and takes them back", () => {
    const shared = memory(40);
    const pool = pagePool(shared, 65536, 30_000, 20);
    const pages = Array.from({ length: 20 }, () => pool.take()!);
    assert.equal(pool.take(), undefined);
    assert.equal(pool.free, 0);
    const sorted = pages.toSorted((a, b) => a - b);
    for (const [index, page] of sorted.entries()) assert.ok(index === 0 || page - sorted[index - 1]! >= 30_000);
    assert.ok(sorted.at(-1)! + 30_000 <= shared.buffer.byteLength);
    pool.give(pages[7]!);
    assert.equal(pool.free, 1);
    assert.equal(pool.take(), pages[7]);
  });

  it("frees a page when its last holder gives it back", () => {
    const pool = pagePool(memory(40), 65536, 65536, 2);
    const page = pool.take()!;
    pool.share(page);
    pool.share(page);
    for (const left of [true, true, false]) {
      assert.equal(pool.isShared(page), left);
      assert.equal(pool.free, 1);
      pool.give(page);
    }
    assert.equal(pool.free, 2);
  });

  it("makes do with what there is when the memory can't grow", () => {
    const pool = pagePool(memory(3), 65536, 65536, 20);
    assert.deepEqual([pool.take(), pool.take(), pool.take()], [65536, 131072, undefined]);
    assert.equal(pool.free, 0);
  });
});
