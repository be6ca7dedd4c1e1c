/** Several clients at one training server: adapters over one base that know nothing of each other, in bounded memory. */
import assert from "node:assert/strict";
import { after, it } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { initialParameters } from "../../src/engines/embedded/model/parameters.ts";
import { shareParameters } from "../../src/engines/embedded/shared-base.ts";
import { config, base as options, walks } from "./far-runs.ts";
import { loopbackTrainer } from "./loopback-trainer.ts";

const base = { config, parameters: shareParameters(initialParameters(config, options.seed, options)) };
const server = await loopbackTrainer(options, config, {
  openAdapter: (lora) => openEmbeddedEngine({ base, lora, threads: 1, cacheBytes: 1e6 }),
  memory: { limit: 100, model: () => 30, policy: 20 },
});
after(() => server.close());

it("trains one adapter and leaves the others as they were; a full server says so, and unloading frees a place", async () => {
  const examples = walks().slice(0, 3);
  const loss = { name: "cross_entropy" } as const;
  const [one, other] = [await server.open(), await server.open({ lora: { rank: 4, seed: 9 } })];
  const score = async (engine: typeof one) => (await engine.forward(examples, loss)).logprobs.map((row) => [...row]);
  try {
    const before = await score(other);
    const policy = await other.publish();
    const ask = { tokens: [1, 2, 3], maxTokens: 8, temperature: 0 };
    const { tokens, logprobs } = await policy.sample(ask);
    await one.forwardBackward(examples, loss);
    await one.optimStep({ learningRate: 0.1 });
    assert.deepEqual(await score(other), before);
    await other.forwardBackward(examples, loss);
    await other.optimStep({ learningRate: 0.1 });
    assert.notDeepEqual(await score(other), before);
    const again = await policy.sample(ask);
    assert.deepEqual([again.tokens, again.logprobs], [tokens, logprobs], "a published policy keeps its weights");

    await assert.rejects(
      server.open(),
      /no memory for another adapter.*2 adapters and 1 policies.*unload a model first/,
    );
    await one.close();
    const third = await server.open();
    assert.deepEqual(await score(third), before, "a new adapter begins with the base");
    await third.close();
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
});
