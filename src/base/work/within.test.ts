import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { within } from "./within.ts";

const never = new Promise<string>(() => {});

describe("within", () => {
  it("gives the value, or undefined after the time or at an abort", async () => {
    assert.equal(await within(60_000, Promise.resolve("here")), "here");
    assert.equal(await within(1, never), undefined);
    assert.equal(await within(Number.POSITIVE_INFINITY, never, AbortSignal.abort()), undefined);
    const stop = new AbortController();
    const waiting = within(60_000, never, stop.signal);
    stop.abort();
    assert.equal(await waiting, undefined);
  });

  it("passes a failure on", async () => {
    await assert.rejects(within(60_000, Promise.reject(new Error("broke"))), /broke/);
  });
});
