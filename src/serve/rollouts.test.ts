import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { type ModelServerOptions, startModelServer } from "../../test/fixtures/model-server.ts";
import { listen } from "../base/http/listen.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { defineTask } from "../core/task.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { outcomeReward } from "../graders/reward.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { openPolicyClients } from "../models/policy-clients.ts";
import { tableTool } from "../testing/index.ts";
import { chainRollout } from "../train/chain-rollout.ts";
import { runWorker } from "../train/workers/run-worker.ts";
import { chainOf } from "../train/workers/worker-protocol.ts";
import { type RolloutHandlerOptions, rolloutHandler } from "./rollout-handler.ts";
import { serve } from "./serve.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of a server
type Loose = any;
const tokenizer = byteTokenizer();
const task = { question: "Where does Ada live?", answers: ["Lyon"] };
const looks: ModelServerOptions["answer"] = ({ body }) =>
  tokenizer.decode(body["prompt"] as number[]).includes("Ada lives in Lyon.")
    ? "<think>there</think><answer>Lyon</answer>"
    : "<think>look it up</think><wiki_search>Ada</wiki_search>";

type Ask = (path: string, body: object) => Promise<{ status: number; body: Loose; text: string }>;

/** A policy of a trainer and a rollout server, both on real ports. */
async function withRollouts(
  use: (ask: Ask, baseURL: string, requests: Loose[], origin: string) => Promise<void>,
  options: Partial<RolloutHandlerOptions> & { answer?: ModelServerOptions["answer"]; stalls?: boolean } = {},
): Promise<void> {
  const { answer = looks, stalls, ...rest } = options;
  const policy = await startModelServer({
    answer,
    tokenizer,
    keepStop: true,
    ...(stalls && { fault: (_request, index) => (index === 0 ? "none" : "stall") }),
  });
  const clients = openPolicyClients(tokenizer, { retries: 0 });
  const served = rolloutHandler({
    policyAt: (address) => clients.at(address),
    profile: mhqaProfile,
    toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
    reward: outcomeReward(taskGrader()),
    defaults: { systemPrompt: false },
    ...rest,
  });
  const server = await serve(served, {});
  const ask: Ask = async (path, body) => {
    const response = await fetch(server.origin + path, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : undefined };
  };
  try {
    await use(ask, policy.url, policy.requests, server.origin);
  } finally {
    await clients.close();
    await server.stop(1000);
    await policy.close();
  }
}

describe("rolloutHandler", () => {
  it("grades by gold in the shape of a trainer's data set, and refuses one that it does not understand", () =>
    withRollouts(async (ask, baseURL) => {
      const gold = [{ target: ["Lyon"] }, { ground_truth: { target: ["Lyon"] } }, { answer: "Lyon" }];
      const items = gold.map((answers) => ({ question: task.question, answers }));
      const { body } = await ask("/rollouts", { baseURL, items });
      assert.deepEqual(
        body.rollouts.map((one: Loose) => one.reward),
        [1, 1, 1],
      );
      const refused = await ask("/rollouts", { baseURL, items: [{ ...items[0], answers: { tests: [] } }] });
      assert.deepEqual([refused.status, refused.body.error.code], [400, "unknown_gold"]);
    }));

  it("gives ids, mask, log-probabilities and reward exactly as the policy sampled them", async () => {
    await withRollouts(async (ask, baseURL, requests) => {
      const { status, body } = await ask("/rollouts", { baseURL, model: "m", items: [{ task, seed: 3 }] });
      assert.equal(status, 200, JSON.stringify(body));
      const [one] = body.rollouts;
      assert.deepEqual([one.reward, one.correct, one.answer, one.ending.reason], [1, true, "Lyon", "answered"]);
      assert.deepEqual([one.turns, one.extra.tool_calls, one.seed], [2, 1, 3]);
      assert.equal(one.response_mask.length, one.response_ids.length);
      assert.equal(one.response_logprobs.length, one.response_ids.length);
      const sampled = one.response_ids.filter((_: number, index: number) => one.response_mask[index] === 1);
      const written =
        "<think>look it up</think><wiki_search>Ada</wiki_search><think>there</think><answer>Lyon</answer>";
      assert.equal(tokenizer.decode(sampled), written);
      const read = one.response_ids.filter((_: number, index: number) => one.response_mask[index] === 0);
      assert.match(tokenizer.decode(read), /^\s*<observation>[\s\S]*Ada lives in Lyon\.[\s\S]*<\/observation>/);
      for (const [index, logprob] of one.response_logprobs.entries())
        assert.equal(logprob, one.response_mask[index] === 1 ? -0.1 : 0);
      // What the second call of the policy saw is a prefix of what comes back.
      const [first, second] = requests.map((request) => request.body.prompt);
      assert.deepEqual(first, one.prompt_ids);
      const whole = [...one.prompt_ids, ...one.response_ids];
      assert.deepEqual(whole.slice(0, second.length), second);
      assert.equal(requests[0].headers["x-session-id"], requests[1].headers["x-session-id"]);
      assert.equal(requests[0].headers.authorization, undefined);
    });
  });

  it("runs n of each item with seeds of their own, and streams them as they end", async () => {
    await withRollouts(async (ask, baseURL, requests) => {
      const asked = { baseURL, n: 3, seed: 7, sampling: { temperature: 0.5, top_p: 0.9, max_tokens: 200 } };
      const items = [{ task }, { question: "Where does Bob live?", answers: ["Rome"], n: 1 }];
      const { body } = await ask("/rollouts", { ...asked, items });
      const places = body.rollouts.map((one: Loose) => `${one.item}/${one.sample}`);
      assert.deepEqual(places, ["0/0", "0/1", "0/2", "1/0"]);
      const seeds = body.rollouts.map((one: Loose) => one.seed);
      assert.equal(new Set(seeds).size, 4);
      assert.equal(seeds[3], 7);
      assert.deepEqual(
        body.rollouts.map((one: Loose) => one.reward),
        [1, 1, 1, 0],
      );
      assert.ok(requests.every((request) => request.body.temperature === 0.5 && request.body.top_p === 0.9));
      const { text } = await ask("/rollouts", { ...asked, items, stream: true });
      const events = eventsOf(text);
      assert.equal(events.at(-1), "[DONE]");
      const streamed = events.slice(0, -1).map((one) => JSON.parse(one));
      assert.deepEqual(streamed.map((one) => `${one.item}/${one.sample}`).toSorted(), places);
      assert.deepEqual(new Set(streamed.map((one) => one.seed)), new Set(seeds));
    });
  });

  it("refuses what is wrong, and ends a batch whose policy does not answer", async () => {
    await withRollouts(async (ask, baseURL) => {
      const items = [{ task }];
      for (const [wrong, param] of [
        [{ items }, "baseURL"],
        [{ baseURL: "file:///etc/passwd", items }, "baseURL"],
        [{ baseURL, items: [] }, "items"],
        [{ baseURL, items: [{}] }, "question"],
        [{ baseURL, items, n: 0 }, "n"],
        [{ baseURL, items, sampling: { temperature: -1 } }, "sampling.temperature"],
        [{ baseURL, items: [{ task, n: 1.5 }] }, "items[0].n"],
      ] as const) {
        const { status, body } = await ask("/rollouts", wrong);
        assert.deepEqual([status, body.error.param], [400, param]);
      }
      const dead = await ask("/rollouts", { baseURL: "http://127.0.0.1:9/v1", items: [{ task }, { task }] });
      assert.equal(dead.status, 502);
      assert.match(dead.body.error.message, /stopped at the first failure/);
    });
    await withRollouts(
      async (ask, baseURL) =>
        assert.equal((await ask("/rollouts", { baseURL, items: [{ task, n: 9 }] })).body.error.code, "queue_full"),
      { maxChains: 1, maxQueue: 2 },
    );
  });

  it("tells how a policy failed, and nothing of what the server at that address says", async () => {
    const secret = "internal-password-of-another-server";
    const logged: string[] = [];
    const bodies = [
      { status: 404, text: `{"error":{"message":"${secret}"}}` },
      { status: 500, text: `{"detail":"${secret}"}` },
      { status: 403, text: secret },
      { status: 200, text: secret },
      { status: 200, text: `data: ${secret}\n\n` },
      { status: 200, text: `{"choices":[{"text":12,"${secret}":1}],"error":"${secret}"}` },
    ];
    await withRollouts(
      async (ask) => {
        for (const { status, text } of bodies) {
          const inner = await listen(async (_request, reply) => {
            const type = text.startsWith("data:") ? "text/event-stream" : "application/json";
            reply.send(status, text, { "content-type": type });
          });
          const { text: said } = await ask("/rollouts", {
            baseURL: `${inner.origin}/v1`,
            items: [{ task, trajectory: true }],
          });
          assert.ok(!said.includes("password"), said);
          assert.match(said, status === 200 ? /does not answer as one of a policy/ : new RegExp(`HTTP ${status}`));
          await inner.close();
        }
      },
      { onPolicyError: (words) => logged.push(words) },
    );
    assert.ok(logged.filter((words) => words.includes(secret)).length >= 3, logged.join("\n"));
  });

  it("shares its board with workers, which run what does not fit here", async () => {
    const here = new AbortController();
    const clients = openPolicyClients(tokenizer, { retries: 0 });
    const worked: string[] = [];
    let both = 0;
    // The two chains wait for each other: one runs here, the other must be a worker's.
    const meeting = Promise.withResolvers<void>();
    const tool = (where: string) => {
      const { execute, ...rest } = tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search");
      return {
        ...rest,
        async execute(...given: Parameters<typeof execute>) {
          worked.push(where);
          if (++both === 2) meeting.resolve();
          await meeting.promise;
          return execute(...given);
        },
      };
    };
    const identity = { version: "1", profile: { name: "p", fingerprint: "p" }, tools: {}, tokenizer: { size: 1, fingerprint: "t" } }; // biome-ignore format: one identity
    const chain = { temperature: 1, limits: {}, bareQuestion: true };
    await withRollouts(
      async (ask, baseURL, _requests, origin) => {
        const working = runWorker({
          coordinator: origin,
          identity: () => identity,
          concurrency: 1,
          signal: here.signal,
          async play(lease, { run, signal }) {
            const model = clients.at(lease.policyAt!);
            const rollout = chainRollout({
              ...chainOf(run.chain),
              profile: mhqaProfile,
              model,
              tools: [tool("worker")],
            });
            return rollout(lease.task, { ...lease, signal });
          },
        });
        const { body } = await ask("/rollouts", { baseURL, seed: 3, items: [{ task }, { task }] });
        assert.deepEqual(worked.toSorted(), ["server", "worker"]);
        for (const one of body.rollouts) {
          assert.deepEqual([one.reward, one.answer, one.ending.reason], [1, "Lyon", "answered"]);
          assert.equal(one.response_logprobs.length, one.response_ids.length);
        }
        here.abort();
        assert.deepEqual(await working, { counted: 1, late: 0 });
      },
      {
        maxChains: 1,
        toolsOf: () => [tool("server")],
        workers: { identity, chain, task: defineTask({ id: "t", question: "?" }) },
      },
    );
    await clients.close();
  });

  it("gives null where nothing could be judged", async () => {
    await withRollouts(
      async (ask, baseURL) => {
        const [one] = (await ask("/rollouts", { baseURL, items: [{ task, trajectory: true }] })).body.rollouts;
        assert.deepEqual([one.reward, one.excluded], [null, "unjudged"]);
        assert.equal(one.trajectory.answer, "Lyon");
      },
      { reward: async () => Promise.reject(new Error("the judge is down")) },
    );
  });
});
