import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { followableLog, notice } from "./followable-log.ts";

const open = new AbortController().signal;

describe("followableLog", () => {
  it("gives every reader all items from its place on, however late it comes", async () => {
    const log = followableLog<number>();
    const read = async (from: number) => Array.fromAsync(log.follow(from, open));
    const early = read(0);
    log.append(1, 2);
    const late = read(1);
    await new Promise((resolve) => setImmediate(resolve));
    log.append(3);
    log.end();
    assert.deepEqual(await early, [1, 2, 3]);
    assert.deepEqual(await late, [2, 3]);
    assert.deepEqual(await read(0), [1, 2, 3]);
  });

  it("lets a reader go when its signal aborts", async () => {
    const log = followableLog<number>();
    const stop = new AbortController();
    const reading = Array.fromAsync(log.follow(0, stop.signal));
    log.append(1);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    assert.deepEqual(await reading, [1]);
  });
});

describe("notice", () => {
  it("wakes all who wait, and nobody later", async () => {
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
