import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asTheyEnd, inParallel, limiter, rateLimiter, semaphore } from "./limiter.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("semaphore", () => {
  it("never lets more than its places through at once, in order of asking", async () => {
    const places = semaphore(3);
    let active = 0;
    let most = 0;
    const order: number[] = [];
    const one = async (index: number) => {
      const release = await places.acquire();
      most = Math.max(most, ++active);
      order.push(index);
      await turn();
      active--;
      release();
      release();
    };
    await Promise.all(Array.from({ length: 30 }, (_, index) => one(index)));
    assert.equal(most, 3);
    assert.deepEqual(order, [...Array(30).keys()]);
    assert.equal(places.held, 0);
  });

  it("gives a free place to the one that holds the fewest, and each that waits an equal part of the queue", async () => {
    const places = semaphore(2);
    const order: string[] = [];
    const releases: (() => void)[] = [];
    const ask = async (owner: string) => {
      releases.push(await places.acquire(undefined, owner));
      order.push(owner);
    };
    const all = ["a", "a", "a", "a", "b", "b", "c"].map(ask);
    await turn();
    assert.deepEqual(places.shareOf("b", 12), { waiting: 2, share: 4 });
    assert.deepEqual(places.shareOf("d", 12), { waiting: 0, share: 3 });
    while (releases.length > 0) {
      releases.shift()!();
      await turn();
    }
    await Promise.all(all);
    assert.deepEqual(order, ["a", "a", "b", "c", "a", "b", "a"]);
    assert.deepEqual([places.held, places.waiting], [0, 0]);
  });

  it("leaves the queue on abort without losing a place", async () => {
    const places = semaphore(1);
    const release = await places.acquire();
    const controller = new AbortController();
    const waiting = places.acquire(controller.signal);
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    release();
    (await places.acquire())();
    assert.equal(places.held, 0);
  });
});

describe("rateLimiter", () => {
  it("lets a burst pass and then keeps the pace", async () => {
    let time = 0;
    const waits: number[] = [];
    const clock = { now: () => time, sleep: async (ms: number) => void waits.push(Math.round(ms)) };
    const start = rateLimiter({ perSecond: 4, burst: 4 }, clock);
    for (let i = 0; i < 7; i++) await start();
    assert.deepEqual(waits, [250, 500, 750]);
    time = 10_000;
    waits.length = 0;
    for (let i = 0; i < 4; i++) await start();
    assert.deepEqual(waits, []);
  });
});

describe("limiter", () => {
  it("spaces calls by the minute's allowance", async () => {
    let time = 0;
    const starts: number[] = [];
    const clock = {
      now: () => time,
      sleep: async (ms: number) => {
        time += ms;
      },
    };
    const places = limiter({ requestsPerMinute: 120, clock });
    for (let i = 0; i < 5; i++) {
      (await places.acquire())();
      starts.push(time);
    }
    assert.deepEqual(starts, [0, 500, 1000, 1500, 2000]);
  });

  it("gives the place back when the wait for the rate is aborted", async () => {
    const places = limiter({ concurrency: 1, requestsPerMinute: 1 });
    (await places.acquire())();
    const controller = new AbortController();
    const waiting = places.acquire(controller.signal);
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    const other = new AbortController();
    const next = places.acquire(other.signal); // reaches the rate, not the place
    other.abort();
    await assert.rejects(next, { name: "AbortError" });
  });
});

describe("inParallel", () => {
  it("keeps the order of the items and the bound", async () => {
    let active = 0;
    let most = 0;
    const doubled = await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
      most = Math.max(most, ++active);
      for (let left = 6 - item; left > 0; left--) await turn();
      active--;
      return item * 2;
    });
    assert.deepEqual(doubled, [2, 4, 6, 8, 10]);
    assert.equal(most, 2);
    assert.deepEqual(await inParallel([], 4, async () => 1), []);
  });

  it("starts nothing new after a failure and lets what runs end", async () => {
    const ended: number[] = [];
    const work = inParallel([0, 1, 2, 3, 4, 5], 2, async (item) => {
      if (item === 0) throw new Error("first");
      await turn();
      ended.push(item);
    });
    await assert.rejects(work, /first/);
    assert.deepEqual(ended, [1]);
  });
});

describe("asTheyEnd", () => {
  it("yields results in the order in which they end, under the bound", async () => {
    const waits = [3, 1, 2, 0];
    let active = 0;
    let most = 0;
    const ended: number[] = [];
    for await (const item of asTheyEnd(waits, { concurrency: 2 }, async (wait) => {
      most = Math.max(most, ++active);
      for (let left = wait; left >= 0; left--) await turn();
      active--;
      return wait;
    })) {
      ended.push(item);
    }
    assert.equal(most, 2);
    assert.deepEqual([...ended].sort(), [0, 1, 2, 3]);
    assert.equal(ended[0], 1);
  });

  it("stops and awaits what is under way when the reader leaves", async () => {
    const controller = new AbortController();
    let left = 0;
    for await (const _ of asTheyEnd([1, 2, 3], { concurrency: 3, stop: () => controller.abort() }, async (item) => {
      if (item === 1) {
        await turn();
        return item;
      }
      await new Promise((resolve) => controller.signal.addEventListener("abort", resolve, { once: true }));
      left++;
      return item;
    })) {
      break;
    }
    assert.equal(left, 2);
  });

  it("throws the error of a job", async () => {
    const read = async () => {
      for await (const _ of asTheyEnd([1], { concurrency: 1 }, async () => Promise.reject(new Error("broke"))));
    };
    await assert.rejects(read, /broke/);
  });
});
