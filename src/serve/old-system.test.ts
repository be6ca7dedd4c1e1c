import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Fault, startModelServer } from "../../test/fixtures/model-server.ts";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { servedReport } from "../evaluate/served-report.ts";
import { mhqaProfile, webProfile } from "../language/profiles.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { chainHandler } from "./chain-handler.ts";
import { serve } from "./serve.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Where does Ada live?" },
];
const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
const models = { data: [{ id: "old-team" }] };

async function withOld(
  answer: string,
  use: (old: ReturnType<typeof openaiCompatible>, requests: Loose[]) => Promise<void>,
  fault: Fault = "none",
): Promise<void> {
  const server = await startModelServer({ answer: () => answer, models, fault: () => fault });
  const old = openaiCompatible({ baseURL: server.url, apiKey: "sk-old", retries: 0 });
  try {
    await use(old, server.requests);
  } finally {
    await old.close();
    await server.close();
  }
}

describe("a shadow", () => {
  it("answers from the old system in every API, runs the chain too, keeps both and counts agreement", async () => {
    await withOld("lyon", async (old, requests) => {
      const kept: Trajectory[] = [];
      let page = "";
      await withServer({ shadow: old, onTrajectory: (one) => void kept.push(one) }, async (ask) => {
        const chat: Loose = await (await ask("/v1/chat/completions", { messages })).json();
        assert.equal(chat.choices[0].message.content, "lyon");
        assert.equal(chat.choices[0].message.reasoning, undefined);
        assert.ok(chat.usage.total_tokens > 0);
        assert.deepEqual(requests[0].body.messages, messages);
        const streamed = await (await ask("/v1/chat/completions", { messages, stream: true })).text();
        assert.match(streamed, /"content":"lyon"/);
        assert.equal(eventsOf(streamed).at(-1), "[DONE]");
        const response: Loose = await (await ask("/v1/responses", { input: "Where does Ada live?" })).json();
        assert.equal(response.output.at(-1).content[0].text, "lyon");
        const message: Loose = await (
          await ask("/v1/messages", { max_tokens: 999, messages: messages.slice(1) })
        ).json();
        assert.equal(message.content.at(-1).text, "lyon");
        while (kept.length < 4) await new Promise((resolve) => setImmediate(resolve));
        page = await (await ask("/metrics")).text();
      });
      assert.match(page, /coa_shadow_total\{agrees="yes"\} 4/);
      for (const { answer, served } of kept) {
        assert.equal(answer, "Lyon");
        assert.equal(served?.shadow?.answer, "lyon");
        assert.equal(served?.shadow?.model, "old-team");
      }
      const wrong = { ...kept[0]!, served: { shadow: { model: "old-team", answer: "Rome", agrees: false, ms: 2000 } } };
      const { shadow } = servedReport([...kept, wrong]);
      assert.equal(shadow.agreement.value, 0.8);
      assert.ok(shadow.agreement.low > 0.3 && shadow.agreement.low < 0.8 && shadow.agreement.high < 1);
      assert.deepEqual(
        shadow.disagreements.map(({ old: said, chain }) => [said, chain]),
        [["Rome", "Lyon"]],
      );
    });
  });

  it("fails as the old system fails, and does not fail with a chain that can't run", async () => {
    await withOld(
      "x",
      async (old) => {
        await withServer({ shadow: old }, async (ask) => {
          const response = await ask("/v1/chat/completions", { messages });
          const { error }: Loose = await response.json();
          assert.deepEqual([response.status, error.code], [502, "shadow_failed"]);
        });
      },
      "error-500",
    );
    await withOld("lyon", async (old) => {
      const broken = scriptedModel(() => new Error("no model"));
      await withServer({ shadow: old, model: broken }, async (ask) => {
        const chat: Loose = await (await ask("/v1/chat/completions", { messages })).json();
        assert.equal(chat.choices[0].message.content, "lyon");
      });
    });
  });

  it("stops chains that outlive their request when the server stops", async () => {
    await withOld("lyon", async (old) => {
      let stopped = false;
      const endless = scriptedModel(
        ({ signal }) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => {
              stopped = true;
              reject(signal.reason);
            });
          }),
      );
      const handler = await chainHandler({ model: endless, profile: mhqaProfile, toolsOf: () => tools, shadow: old });
      const server = await serve(handler, {});
      const body = JSON.stringify({ messages });
      assert.equal((await fetch(`${server.origin}/v1/chat/completions`, { method: "POST", body })).status, 200);
      await server.stop(20);
      assert.ok(stopped);
    });
  });
});

describe("a fallback", () => {
  const cases: [name: string, script: string[], reason: string][] = [
    ["has no answer", ["<think>I do not know</think>"], "no-answer"],
    [
      "is not sure",
      [
        "<think>a</think><suggested_answer>Rome</suggested_answer><double_check>unsure\nThe score this time is: 2</double_check>",
        "<think>b</think><answer>Rome</answer>",
      ],
      "low-check",
    ],
  ];
  for (const [name, script, reason] of cases) {
    it(`is asked where the chain ${name}`, async () => {
      await withOld("Lyon, says the team", async (old) => {
        const kept: Trajectory[] = [];
        const options = {
          model: scriptedModel(script),
          profile: webProfile,
          toolsOf: () => [tableTool({}, "web_search")],
          defaults: { enforcement: "report" as const, limits: { maxSteps: script.length, answerReserve: 0 } },
          fallback: old,
          onTrajectory: (one: Trajectory) => void kept.push(one),
        };
        await withServer(options, async (ask) => {
          const chat: Loose = await (await ask("/v1/chat/completions", { messages })).json();
          assert.equal(chat.choices[0].message.content, "Lyon, says the team");
          assert.match(
            await (await ask("/metrics")).text(),
            new RegExp(`coa_fallback_total\\{reason="${reason}",ok="yes"\\} 1`),
          );
        });
        const note = kept[0]?.served?.fallback;
        assert.deepEqual([note?.reason, note?.answer], [reason, "Lyon, says the team"]);
        assert.notEqual(kept[0]?.answer, "Lyon, says the team");
        assert.deepEqual(servedReport(kept).fallback, { asked: 1, failed: 0, reasons: { [reason]: 1 } });
      });
    });
  }

  it("is left alone where the chain is sure, and its failure leaves the chain's own end", async () => {
    await withOld("never", async (old, requests) => {
      await withServer({ model: scriptedModel(good), toolsOf: () => tools, fallback: old }, async (ask) => {
        const chat: Loose = await (await ask("/v1/chat/completions", { messages })).json();
        assert.equal(chat.choices[0].message.content, "Lyon");
      });
      assert.equal(requests.length, 0);
    });
    await withOld(
      "x",
      async (old) => {
        const options = {
          model: scriptedModel(["<think>no</think>"]),
          defaults: { limits: { maxSteps: 1 } },
          fallback: old,
        };
        await withServer(options, async (ask) => {
          const response = await ask("/v1/chat/completions", { messages });
          assert.equal(response.status, 200);
          assert.equal(((await response.json()) as Loose).choices[0].message.content, "");
        });
      },
      "error-500",
    );
  });
});
