import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inOrder } from "./in-order.ts";

describe("inOrder", () => {
  it("starts an act when the one before has ended, well or badly", async () => {
    const inTurn = inOrder();
    const events: string[] = [];
    const act = (name: string, fails = false) =>
      inTurn(async () => {
        events.push(`${name} starts`);
        await new Promise((resolve) => setImmediate(resolve));
        events.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const [first, second, third] = await Promise.allSettled([act("a"), act("b", true), act("c")]);
    assert.deepEqual(events, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
    assert.equal(first.status === "fulfilled" && first.value, "a");
    assert.equal(second.status === "rejected" && (second.reason as Error).message, "b");
    assert.equal(third.status === "fulfilled" && third.value, "c");
  });
});
