import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharedWork } from "./shared-work.ts";

describe("sharedWork", () => {
  it("does work once for all who ask at the same time, and again later", async () => {
    const share = sharedWork<number>();
    let done = 0;
    const work = async () => ++done;
    assert.deepEqual(await Promise.all([share("a", work), share("a", work), share("b", work)]), [1, 1, 2]);
    assert.equal(await share("a", work), 3);
  });

  it("does it again, once, for those who wait for a caller who gave up", async () => {
    const share = sharedWork<string>();
    const first = new AbortController();
    let later = 0;
    const endless = new Promise<string>((_, reject) =>
      first.signal.addEventListener("abort", () => reject(first.signal.reason)),
    );
    const gone = share("a", () => endless, first.signal);
    const others = [1, 2].map(() => share("a", async () => `answer ${++later}`));
    first.abort();
    await assert.rejects(gone, { name: "AbortError" });
    assert.deepEqual(await Promise.all(others), ["answer 1", "answer 1"]);
    await assert.rejects(
      share("a", () => Promise.reject(new Error("broke"))),
      /broke/,
    );
  });
});
