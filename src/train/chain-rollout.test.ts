import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { runChain } from "../chain/run-chain.ts";
import type { Policy } from "../core/engine.ts";
import { defineTask } from "../core/task.ts";
import { defineTool } from "../core/tool.ts";
import { webProfile } from "../language/profiles.ts";
import { scriptedModel } from "../testing/index.ts";
import { withFaults } from "../tools/with-faults.ts";
import { chainRollout } from "./chain-rollout.ts";

const task = defineTask({ id: "t", question: "How high?" });
const search = defineTool({
  name: "web_search",
  description: "s",
  input: z.object({ query: z.string() }),
  run: async () => "812 m",
});
const script = () =>
  scriptedModel(({ text }) => {
    const seen = text.split("</observation>").length - 1;
    return seen < 3 ? `<think>t</think><web_search>${seen}` : "<think>t</think><answer>812";
  });
const faults = { seed: 4, faults: [{ kind: "empty" as const, rate: 0.5 }] };

describe("chainRollout", () => {
  it("names a rollout after its task and seed, so that planned faults strike it alike wherever it runs", async () => {
    const tools = () => withFaults([search], faults);
    const rollout = chainRollout({ model: script(), tools, profile: webProfile });
    const struck = async (seed: number, step: number) => {
      const { id, segments } = await rollout(task, { seed, step });
      assert.equal(id, `t-${seed}`);
      return segments.flatMap(({ call }) => (call ? [call.fault ?? "-"] : [])).join(" ");
    };
    const seeds = [1, 2, 3, 4, 5, 6];
    const first = await Promise.all(seeds.map((seed) => struck(seed, 0)));
    assert.deepEqual(await Promise.all(seeds.map((seed) => struck(seed, 7))), first);
    assert.ok(new Set(first).size > 2, `${first}`);
    const chain = { model: script(), tools: tools(), profile: webProfile };
    const elsewhere = await runChain(task, { ...chain, id: "t-3" });
    assert.equal(elsewhere.segments.flatMap(({ call }) => (call ? [call.fault ?? "-"] : [])).join(" "), first[2]);
  });

  it("runs with the policy and the context of its step, at the temperature that is trained", async () => {
    const model = script();
    const seen: unknown[] = [];
    const rollout = chainRollout({
      model: (policy) => {
        seen.push(policy);
        return model;
      },
      tools: (one, step) => {
        seen.push([one.id, step]);
        return [search];
      },
      profile: webProfile,
      temperature: 0.7,
      systemPrompt: false,
    });
    const policy = { name: "p" } as Policy;
    const whole = await rollout(task, { seed: 9, step: 5, policy, maxContext: 4000 });
    assert.deepEqual(seen, [policy, ["t", 5]]);
    assert.equal(whole.answer, "812");
    assert.equal(model.requests[0]!.temperature, 0.7);
    assert.deepEqual(whole.prompt, [{ role: "user", content: "How high?" }]);
    const narrow = await rollout(task, { seed: 9, step: 5, policy, maxContext: 12 });
    assert.notEqual(narrow.ending.reason, "answered", "the window of the step is what the chain has");
  });
});
