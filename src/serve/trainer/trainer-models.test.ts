import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tabularEngine } from "../../../test/fixtures/conformance/tabular-engine.ts";
import { futures } from "./futures.ts";
import { type ServedPolicy, type TrainerModel, trainerModels } from "./trainer-models.ts";

/** Models of 30 bytes and policies of 10, in 100 bytes; `closed` tells what was closed. */
function small(limit = 100) {
  const closed: string[] = [];
  const results = futures();
  let engines = 0;
  const models = trainerModels({
    async openAdapter() {
      const name = `engine ${++engines}`;
      return { ...tabularEngine(8), close: async () => void closed.push(name) };
    },
    maxModels: 10,
    maxPolicies: 10,
    memory: { limit, model: (rank) => rank * 15, policy: 10 },
    sessionTimeoutMs: 1e9,
    register: results.add,
  });
  const session = models.createSession();
  let number = 0;
  const create = () => models.create(session, number++, { rank: 2, seed: 0 });
  const open = (name: string) => async () =>
    ({
      policy: { close: async () => void closed.push(name) },
      score: () => Promise.reject(),
    }) as unknown as ServedPolicy;
  const publish = (model: TrainerModel, name: string) => models.publish(model, open(name));
  return { models, create, publish, open, closed };
}

describe("models and policies in little memory", () => {
  it("refuses an adapter that does not fit, with the figures, and takes it when another was unloaded", async () => {
    const { models, create, closed } = small();
    const first = await create();
    await Promise.all([create(), create()]);
    await assert.rejects(
      create(),
      /no memory for another adapter of rank 2, which takes 1 MB: 3 adapters and 0 policies/,
    );
    await models.unload(first.id);
    assert.deepEqual(closed, ["engine 1"]);
    await create();
    await models.close();
    assert.equal(closed.length, 4);
  });

  it("counts adapters that are still being opened", async () => {
    const { models, create } = small();
    const made = await Promise.allSettled(Array.from({ length: 5 }, create));
    assert.equal(made.filter(({ status }) => status === "fulfilled").length, 3);
    await models.close();
  });

  it("closes policies that are not in use before it refuses, a model's newest never", async () => {
    const { models, create, publish, closed } = small();
    const model = await create();
    const old = await publish(model, "old");
    const current = await publish(model, "current");
    await create();
    await create(); // 90 and 20: the old policy gives way
    assert.deepEqual(closed, ["old"]);
    await assert.rejects(publish(model, "next"), /no memory for another policy/);
    await assert.rejects(
      models.usePolicy(old, async () => 1),
      /not found/,
    );
    assert.equal(await models.usePolicy(current, async () => 2), 2);
    await models.close();
  });

  it("keeps a policy that is in use, and opens saved weights again when they are asked for", async () => {
    const { models, create, publish, open, closed } = small(45);
    let opened = 0;
    const saved = models.serve("tinker://m/sampler_weights/a", () => {
      opened++;
      return open("saved")();
    });
    assert.equal(models.serve("tinker://m/sampler_weights/a", open("again")), saved, "one session for an address");
    await models.usePolicy(saved, async () => {
      await assert.rejects(
        Promise.all([create(), create()]),
        /no memory for another adapter of rank 2/,
        "the policy in use is not closed for it",
      );
    });
    const [model] = models.all();
    await publish(model!, "own");
    assert.deepEqual([opened, closed], [1, ["saved"]]);
    await models.unload(model!.id);
    assert.equal(await models.usePolicy(saved, async () => 3), 3);
    assert.equal(opened, 2);
    await models.close();
  });
});

describe("a silent session", () => {
  it("loses its models after a while, but not because the server itself was stopped", async (test) => {
    test.mock.timers.enable({ apis: ["setInterval"] });
    let time = 0;
    const pass = (ms: number) => {
      for (const end = time + ms; time < end; ) {
        time += 60_000;
        test.mock.timers.tick(60_000);
      }
    };
    const models = trainerModels({
      openAdapter: async () => tabularEngine(8),
      maxModels: 1,
      maxPolicies: 1,
      sessionTimeoutMs: 300_000,
      register: futures().add,
      now: () => time,
    });
    const model = await models.create(models.createSession(), 0, { rank: 1, seed: 0 });
    pass(120_000);
    time += 3_600_000; // Ctrl-Z, or a machine that was frozen
    pass(60_000);
    assert.equal(models.get(model.id), model);
    pass(360_000);
    assert.throws(() => models.get(model.id), /Model not found/);
    await models.close();
  });
});
