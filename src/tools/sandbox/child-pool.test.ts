import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { childPool } from "./child-pool.ts";

function fakeChildren() {
  const all: { id: number; alive: boolean; kill(): void; exited: Promise<void>; die: () => void }[] = [];
  const start = async () => {
    const gone = Promise.withResolvers<void>();
    const child = {
      id: all.length + 1,
      alive: true,
      exited: gone.promise,
      die() {
        child.alive = false;
        gone.resolve();
      },
      kill: () => child.die(),
    };
    all.push(child);
    return child;
  };
  return { all, start, living: () => all.filter((child) => child.alive).length };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("childPool", () => {
  it("gives a trajectory its own child and never another's", async () => {
    const { start } = fakeChildren();
    const pool = childPool({ start, isolation: "trajectory", warm: 1, most: 4 });
    const use = (key?: string) => pool.use(key, async (child) => ({ result: child.id, keep: true }));
    const [a1, b1, a2, b2] = [await use("a"), await use("b"), await use("a"), await use("b")];
    assert.equal(a1, a2);
    assert.equal(b1, b2);
    assert.notEqual(a1, b1);
    const [x, y] = [await use(), await use()];
    assert.equal(new Set([a1, b1, x, y]).size, 4);
    pool.endSession("a");
    await settle();
    assert.notEqual(await use("a"), a1);
    await pool.close();
  });

  it("replaces a child that died while it was waiting, and one that died at work", async () => {
    const { all, start } = fakeChildren();
    const pool = childPool({ start, isolation: "trajectory", warm: 2, most: 4 });
    await pool.warmUp();
    assert.equal(all.length, 2);
    all[0]?.die();
    await settle();
    assert.equal(all.length, 3);
    const first = await pool.use("a", async (child) => {
      child.die();
      return { result: child.id, keep: false };
    });
    const second = await pool.use("a", async (child) => ({ result: child.id, keep: true }));
    assert.notEqual(first, second);
    await pool.close();
  });

  it("does not start children for ever that die before they are used", async () => {
    const { all, start } = fakeChildren();
    const dying = async () => {
      const child = await start();
      setImmediate(() => child.die());
      return child;
    };
    const pool = childPool({ start: dying, isolation: "trajectory", warm: 1, most: 4 });
    await pool.warmUp();
    for (let turn = 0; turn < 50; turn++) await settle();
    assert.ok(all.length > 1 && all.length < 10, `${all.length} were started`);
    await pool.close();
  });

  it("never has more than `most` children at work, and the longest resting session gives way", async () => {
    const { start, all } = fakeChildren();
    const pool = childPool({ start, isolation: "trajectory", warm: 0, most: 2 });
    const use = (key: string) => pool.use(key, async (child) => ({ result: child.id, keep: true }));
    const a = await use("a");
    const b = await use("b");
    await use("c");
    assert.equal(all.filter((child) => child.alive).length, 2);
    assert.equal(await use("b"), b);
    assert.notEqual(await use("a"), a);
    await pool.close();
  });

  it("serves a hundred trajectories with three children, each one's runs in order", async () => {
    const { start, living } = fakeChildren();
    const pool = childPool({ start, isolation: "trajectory", warm: 1, most: 3 });
    const order = new Map<string, number[]>();
    let most = 0;
    let atWork = 0;
    await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        pool.use(`t${at % 100}`, async () => {
          most = Math.max(most, ++atWork);
          await settle();
          atWork--;
          order.set(`t${at % 100}`, [...(order.get(`t${at % 100}`) ?? []), at]);
          return { result: 0, keep: true };
        }),
      ),
    );
    assert.ok(most <= 3, `${most} at once`);
    for (const [key, runs] of order)
      assert.deepEqual(
        runs,
        [...runs].sort((x, y) => x - y),
        key,
      );
    await pool.close();
    await settle();
    assert.equal(living(), 0);
  });

  it("shares few children between runs when asked to", async () => {
    const { start, all } = fakeChildren();
    const pool = childPool({ start, isolation: "run", warm: 2, most: 99 });
    const used = await Promise.all(
      Array.from({ length: 50 }, () =>
        pool.use("t", async (child) => {
          await settle();
          return { result: child.id, keep: true };
        }),
      ),
    );
    assert.equal(new Set(used).size, 2);
    assert.equal(all.length, 2);
    await pool.use(undefined, async () => ({ result: 0, keep: false }));
    await pool.close();
  });

  it("passes on why a child could not be started, and tries again next time", async () => {
    let tries = 0;
    const { start } = fakeChildren();
    const pool = childPool({
      start: async () => {
        if (++tries <= 3) throw new Error("no python");
        return start();
      },
      isolation: "trajectory",
      warm: 0,
      most: 1,
    });
    const use = () => pool.use("a", async (child) => ({ result: child.id, keep: true }));
    await assert.rejects(use(), /no python/);
    assert.equal(await use(), 1);
    await pool.close();
  });

  it("refuses what still waits when it is closed, and starts nothing for it", async () => {
    for (const isolation of ["trajectory", "run"] as const) {
      const { all, start, living } = fakeChildren();
      const pool = childPool({ start, isolation, warm: 1, most: 1 });
      const entered = Promise.withResolvers<void>();
      const first = pool.use(undefined, async (child) => {
        entered.resolve();
        await child.exited;
        return { result: child.id, keep: false };
      });
      await entered.promise;
      const waiting = ["a", "b", undefined].map((key) =>
        pool.use(key, async (child) => ({ result: child.id, keep: true })),
      );
      const outcomes = Promise.allSettled([first, ...waiting]);
      const started = all.length;
      await pool.close();
      const late = pool.use("c", async (child) => ({ result: child.id, keep: true }));
      for (const one of await outcomes) {
        if (one.status === "rejected") assert.match(String(one.reason), /sandbox was closed/);
      }
      await assert.rejects(late, /sandbox was closed/);
      assert.equal(all.length, started, "children started after the pool was closed");
      assert.equal(living(), 0);
    }
  });

  it("ends when it is closed while a child is still starting", async () => {
    const { all, start, living } = fakeChildren();
    const gate = Promise.withResolvers<void>();
    const pool = childPool({
      start: () => gate.promise.then(start),
      isolation: "trajectory",
      warm: 0,
      most: 2,
    });
    const use = pool.use("a", async (child) => ({ result: child.id, keep: true }));
    await settle();
    const closing = pool.close();
    gate.resolve();
    await assert.rejects(use, /sandbox was closed/);
    await closing;
    assert.equal(all.length, 1);
    assert.equal(living(), 0);
  });
});
