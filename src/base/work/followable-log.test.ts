import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FollowableLog, followableLog, notice } from "./followable-log.ts";

async function read<T>(log: FollowableLog<T>, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  await log.follow((items) => void all.push(...items), signal);
  return all;
}

describe("followableLog", () => {
  it("gives every reader all items, however late it comes", async () => {
    const log = followableLog<number>();
    const early = read(log);
    log.append(1, 2);
    const late = read(log);
    await new Promise((resolve) => setImmediate(resolve));
    log.append(3);
    log.end();
    assert.deepEqual(await early, [1, 2, 3]);
    assert.deepEqual(await late, [1, 2, 3]);
    assert.deepEqual(await read(log), [1, 2, 3]);
  });

  it("lets a reader go when its signal aborts", async () => {
    const log = followableLog<number>();
    const stop = new AbortController();
    const reading = read(log, stop.signal);
    log.append(1);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    assert.deepEqual(await reading, [1]);
  });
});

describe("notice", () => {
  it("wakes all who wait, and none later", async () => {
    const news = notice();
    const both = Promise.all([news.wait(), news.wait()]);
    news.give();
    await both;
    const stop = new AbortController();
    const next = news.wait({ signal: stop.signal });
    stop.abort();
    await next;
    await news.wait({ withinMs: 1 });
  });
});
