import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { futures, orderedRequests } from "./futures.ts";

/** Requests that note when they are carried out. */
function numbered() {
  const results = futures();
  const requests = orderedRequests((work) => results.add(work as never));
  const done: number[] = [];
  const take = (seqId: number, body = `${seqId}`) =>
    requests.take(seqId, body, async () => ({ json: done.push(seqId) }), "/optim_step");
  return { results, requests, done, take };
}

describe("requests of one model", () => {
  it("are carried out by their numbers in whatever order they come, and once however often they come", () => {
    for (let seed = 0; seed < 20; seed++) {
      const { done, take } = numbered();
      const order = Array.from({ length: 12 }, (_, at) => ((at * 5 + seed) % 12) + 1);
      const ids = new Map(order.map((number) => [number, take(number)]));
      for (const number of order.toReversed()) assert.equal(take(number), ids.get(number));
      assert.deepEqual(
        done,
        Array.from({ length: 12 }, (_, at) => at + 1),
      );
    }
  });

  it("refuse another body under a number that is taken, waiting or done", () => {
    const { take } = numbered();
    take(1);
    take(3);
    for (const number of [1, 3]) assert.throws(() => take(number, "other"), /seq_id \d was used for another request/);
  });

  it("fail when their model is unloaded before their turn", async () => {
    const { results, requests, done, take } = numbered();
    const [first, third] = [take(1), take(3)];
    requests.close();
    assert.deepEqual(await results.wait(first, 1000), { json: 1 });
    const outcome = await results.wait(third, 1000);
    assert.match(outcome && "error" in outcome ? outcome.error : "", /unloaded before seq_id 2 came/);
    assert.deepEqual(done, [1]);
  });
});

it("keeps large results that were read only as long as all of them fit, the latest first", async () => {
  const results = futures();
  const ids = Array.from({ length: 4 }, (_, at) => results.add(Promise.resolve({ json: at, size: 100e6 })));
  for (const id of ids.slice(0, 3)) await results.wait(id, 1000);
  results.add(Promise.resolve({ json: "next" }));
  assert.equal(await results.wait(ids[0]!, 1000), undefined);
  for (const id of ids.slice(1)) assert.ok(await results.wait(id, 1000), "read lately, or not yet");
});
