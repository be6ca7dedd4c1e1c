import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inSession } from "./session.ts";

const shared = { note: () => {}, signal: new AbortController().signal };

describe("inSession", () => {
  it("closes what was opened when the work ends or fails, the last opened first", async () => {
    const closed: string[] = [];
    const opened = (name: string) => ({ close: async () => closed.push(name) });
    const done = await inSession(shared, async ({ closeAtEnd }) => {
      closeAtEnd(opened("a"));
      closeAtEnd(undefined);
      closeAtEnd(opened("b"));
      assert.deepEqual(closed, []);
      return "done";
    });
    assert.deepEqual([done, closed], ["done", ["b", "a"]]);
    const failing = inSession(shared, async ({ closeAtEnd }) => {
      closeAtEnd(opened("c"));
      throw new Error("broken");
    });
    await assert.rejects(failing, /^Error: broken$/);
    assert.deepEqual(closed, ["b", "a", "c"]);
  });

  it("closes the rest where closing fails, and reports the first error alone", async () => {
    const closed: string[] = [];
    const refusing = { close: () => Promise.reject(new Error("does not close")) };
    const work = (fails: boolean) =>
      inSession(shared, async ({ closeAtEnd }) => {
        closeAtEnd({ close: async () => closed.push("a") });
        closeAtEnd(refusing);
        if (fails) throw new Error("the work failed");
      });
    await assert.rejects(work(false), /does not close/);
    await assert.rejects(work(true), /the work failed/);
    assert.deepEqual(closed, ["a", "a"]);
  });
});
