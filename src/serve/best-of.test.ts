import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { byMajority } from "../evaluate/choose.ts";
import { scriptedModel } from "../testing/index.ts";
import type { BestOfChains } from "./best-of-chains.ts";

const body = { model: "coa", messages: [{ role: "user", content: "Where does Ada live?" }] };

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;

/** Looks Ada up, then answers: the first of three chains wrongly, the others alike. */
function threeMinds() {
  let answered = 0;
  return scriptedModel((request) =>
    request.text.includes("Ada lives in Lyon.")
      ? `<think>there</think><answer>${answered++ === 0 ? "Paris" : "Lyon"}</answer>`
      : "<think>look it up</think><wiki_search>Ada</wiki_search>",
  );
}

const majority: BestOfChains = {
  n: 3,
  choose: async (task, candidates, signal) => {
    const results = candidates.map(({ answer }) => ({ answer }));
    return { ...(await byMajority()(task, results, { signal })), usage: { ...emptyUsage(), promptTokens: 1000 } };
  },
};

describe("serving the best of several chains", () => {
  it("answers with the chosen chain and counts the tokens and tool calls of all", async () => {
    let single = 0;
    await withServer({}, async (ask) => {
      single = ((await (await ask("/v1/chat/completions", body)).json()) as Loose).usage.prompt_tokens;
    });
    const kept: Trajectory[] = [];
    const options = {
      model: threeMinds(),
      bestOf: majority,
      onTrajectory: (chain: Trajectory) => void kept.push(chain),
    };
    await withServer(options, async (ask) => {
      const reply: Loose = await (await ask("/v1/chat/completions", body)).json();
      assert.equal(reply.choices[0].message.content, "Lyon");
      assert.equal(reply.usage.prompt_tokens, 3 * single + 1000);
      assert.equal(kept.length, 1);
      assert.equal(kept[0]!.usage.toolCalls, 3);
      assert.match(
        JSON.stringify(kept[0]!.served),
        /"bestOf":\{"n":3,"chosen":\d,"reason":"2 of 3 gave this answer"\}/,
      );
      const metrics = await (await ask("/metrics")).text();
      assert.match(metrics, /tool_calls_total\S* 3\b/);
    });
  });

  it("shows the chosen answer alone in every API that answers whole", async () => {
    await withServer({ model: threeMinds(), bestOf: majority }, async (ask) => {
      const message: Loose = await (await ask("/v1/messages", { ...body, max_tokens: 600 })).json();
      assert.equal(message.content.at(-1).text, "Lyon");
    });
    await withServer({ model: threeMinds(), bestOf: majority }, async (ask) => {
      const response: Loose = await (await ask("/v1/responses", { input: "Where does Ada live?" })).json();
      assert.equal(response.output.at(-1).content[0].text, "Lyon");
    });
  });

  it("streams the first chain's work and then the chosen answer alone", async () => {
    await withServer({ model: threeMinds(), bestOf: majority }, async (ask) => {
      const data = eventsOf(await (await ask("/v1/chat/completions", { ...body, stream: true })).text()).slice(0, -1);
      const chunks: Loose[] = data.map((one) => JSON.parse(one));
      assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "Lyon");
    });
  });

  it("runs a chain once where the client brings tools of its own", async () => {
    const model = threeMinds();
    const tools = [{ type: "function", function: { name: "mine", parameters: { type: "object", properties: {} } } }];
    await withServer({ model, bestOf: majority }, async (ask) => {
      const reply: Loose = await (await ask("/v1/chat/completions", { ...body, tools })).json();
      assert.equal(reply.choices[0].message.content, "Paris");
    });
    assert.equal(model.requests.length, 2);
  });
});
