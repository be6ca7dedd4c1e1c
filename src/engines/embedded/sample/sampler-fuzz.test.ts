import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testSize } from "../../../../test/fixtures/test-size.ts";
import { seededRandom } from "../../../base/work/random.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { createSampler, type Sampler } from "./create-sampler.ts";
import type { SamplerRequest } from "./sampler.ts";

const config = modelConfig({
  vocabularySize: 40,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  intermediateSize: 24,
  maxContext: 160,
});
const weights = initialParameters(config, 6, { embeddingDeviation: 0.6 });
const pageBytes = 2 * 2 * 2 * 8 * 32 * 4; // layers, keys and values, heads, head width, positions, bytes
const rounds = testSize(6, 60);

/** A mask that depends on what was sampled, as a grammar's would. */
const maskAfter = (count: number) => Array.from({ length: 12 }, (_, index) => (count * 5 + index * 3) % 40);

/** Steps once and notes what happened; answers masks, sometimes late. */
function advance(
  sampler: Sampler,
  got: Map<number, number[]>,
  owed: Set<number>,
  masked: ReadonlySet<number>,
  late: () => boolean,
) {
  for (const id of [...owed]) {
    if (late()) continue;
    owed.delete(id);
    sampler.allow(id, maskAfter(got.get(id)!.length));
  }
  let finished = 0;
  for (const event of sampler.step()) {
    assert.notEqual(event.type, "failed");
    if (event.type === "finished") {
      owed.delete(event.id);
      finished++;
    } else if (event.type === "token") {
      got.get(event.id)!.push(event.token, Math.round(event.logprob * 1e9));
      if (masked.has(event.id)) owed.add(event.id);
    }
  }
  return finished;
}

function runAlone(request: SamplerRequest): number[] {
  const sampler = createSampler(config, weights);
  sampler.submit({ ...request, sessionKey: undefined });
  const got = new Map([[request.id, [] as number[]]]);
  const masked = new Set(request.masked ? [request.id] : []);
  const owed = new Set(masked);
  for (let step = 0; advance(sampler, got, owed, masked, () => false) === 0; step++) assert.ok(step < 1000);
  sampler.close();
  return got.get(request.id)!;
}

describe("a sampler under random use", () => {
  it("finishes every request with what it would give alone, with little memory, sessions, masks and cancels", () => {
    for (let round = 0; round < rounds; round++) {
      const random = seededRandom(100 + round);
      const whole = (count: number) => Math.floor(random.next() * count);
      const prompts = Array.from({ length: 3 }, () => Array.from({ length: 20 + whole(80) }, () => whole(40)));
      const requests = Array.from({ length: 30 }, (_, id): SamplerRequest => {
        const prompt = prompts[whole(3)]!;
        const tail = Array.from({ length: whole(12) }, () => whole(40));
        const tokens = [...prompt.slice(0, 1 + whole(prompt.length)), ...tail];
        return {
          ...{ id, tokens, maxTokens: 1 + whole(40), seed: whole(1000), temperature: whole(3) / 2 },
          ...(whole(3) === 0 ? { masked: true } : {}),
          ...(whole(3) === 0 ? { sessionKey: `s${whole(4)}` } : {}),
          ...(whole(4) === 0 ? { topK: 6 } : {}),
        };
      });
      const sampler = createSampler(config, weights, {
        threads: 1 + whole(2),
        maxBatch: 1 + whole(12),
        cacheBytes: (5 + whole(12)) * pageBytes,
      });
      const got = new Map(requests.map(({ id }) => [id, [] as number[]]));
      const masked = new Set(requests.filter((request) => request.masked).map(({ id }) => id));
      const owed = new Set<number>();
      const cancelled = new Set<number>();
      const queue = [...requests];
      let finished = 0;
      for (let step = 0; finished + cancelled.size < requests.length; step++) {
        assert.ok(step < 20_000, `round ${round} does not end`);
        while (queue.length > 0 && random.next() < 0.4) {
          const request = queue.pop()!;
          sampler.submit(request);
          if (request.masked) owed.add(request.id);
        }
        finished += advance(sampler, got, owed, masked, () => random.next() < 0.5);
        const victim = requests[whole(30)]!;
        if (
          random.next() < 0.02 &&
          !queue.includes(victim) &&
          !cancelled.has(victim.id) &&
          got.get(victim.id)!.length / 2 < victim.maxTokens
        ) {
          sampler.cancel(victim.id);
          owed.delete(victim.id);
          cancelled.add(victim.id);
        }
      }
      assert.ok(sampler.idle);
      sampler.close();
      for (const request of requests) {
        const alone = runAlone(request);
        const together = got.get(request.id)!;
        assert.deepEqual(
          together,
          cancelled.has(request.id) ? alone.slice(0, together.length) : alone,
          `round ${round}, ${request.id}`,
        );
      }
    }
  });
});
