import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { tabularEngine } from "../../test/fixtures/conformance/tabular-engine.ts";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import type { ContinueEvent, Model } from "../core/model.ts";
import { engineModel } from "../models/engine-model.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
const tokenizer = byteTokenizer();
const model = () => engineModel(tabularEngine(tokenizer.vocabularySize), tokenizer, { name: "tiny" });

describe("completions", () => {
  it("takes token ids and gives ids and log-probabilities as sampled, whole and streamed alike", async () => {
    await withServer({ model: model() }, async (ask) => {
      const prompt = tokenizer.encode("abc");
      const sent = {
        model: "tiny",
        prompt,
        max_tokens: 12,
        temperature: 1,
        seed: 7,
        logprobs: 1,
        return_token_ids: true,
      };
      const whole: Loose = await (await ask("/v1/completions", sent)).json();
      const [choice] = whole.choices;
      assert.deepEqual(choice.prompt_token_ids, prompt);
      assert.equal(choice.token_ids.length, whole.usage.completion_tokens);
      assert.equal(choice.logprobs.token_logprobs.length, choice.token_ids.length);
      assert.ok(choice.logprobs.token_logprobs.every((value: number) => value < 0));
      const streamed = eventsOf(await (await ask("/v1/completions", { ...sent, stream: true })).text());
      assert.equal(streamed.at(-1), "[DONE]");
      const chunks: Loose[] = streamed.slice(0, -1).map((one) => JSON.parse(one));
      assert.deepEqual(
        chunks.flatMap((chunk) => chunk.choices[0].token_ids),
        choice.token_ids,
      );
      assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(""), choice.text);
      assert.equal(chunks.at(-1).choices[0].finish_reason, choice.finish_reason);
    });
  });

  it("leaves the stop string out, whole and streamed, however the pieces fall, unless it is asked for", async () => {
    for (const pieces of [["hello STOP"], ["hello ", "ST", "OP"], ["h", "ello S", "T", "O", "P"]]) {
      const stopped: Model = {
        ...model(),
        async *continue(): AsyncGenerator<ContinueEvent> {
          for (const text of pieces) yield { type: "delta", text, tokens: [...Buffer.from(text)] };
          yield { type: "end", finish: "stop", usage: { promptTokens: 1, completionTokens: 10 } };
        },
      };
      await withServer({ model: stopped }, async (ask) => {
        const text = async (more: object) => {
          const sent = { prompt: "hi", return_token_ids: true, ...more };
          const whole: Loose = await (await ask("/v1/completions", sent)).json();
          const stream = await (await ask("/v1/completions", { ...sent, stream: true })).text();
          const chunks: Loose[] = eventsOf(stream).slice(0, -1).map((one) => JSON.parse(one)); // biome-ignore format: one list
          const ids = chunks.flatMap(({ choices: [choice] }) => choice.token_ids);
          assert.deepEqual(ids, [...Buffer.from("hello STOP")], "ids are as sampled");
          assert.deepEqual(whole.choices[0].token_ids, ids);
          assert.equal(chunks.map(({ choices: [choice] }) => choice.text).join(""), whole.choices[0].text);
          return whole.choices[0].text;
        };
        assert.equal(await text({ stop: "STOP" }), "hello ");
        assert.equal(await text({ stop: ["STOPS", "STOP"] }), "hello ");
        assert.equal(await text({ stop: "STOP", include_stop_str_in_output: true }), "hello STOP");
        assert.equal(await text({ stop: "STOPS" }), "hello STOP", "what was held back and is no stop is sent");
        assert.equal(await text({}), "hello STOP");
      });
    }
  });

  it("reads a text prompt as the model's tokenizer does, and refuses what is no prompt", async () => {
    await withServer({ model: model() }, async (ask) => {
      const text: Loose = await (
        await ask("/v1/completions", { prompt: "hi", seed: 1, return_token_ids: true })
      ).json();
      assert.deepEqual(text.choices[0].prompt_token_ids, tokenizer.encodeWithSpecials("hi"));
      for (const prompt of [[], [1e9], [-1], ["a", "b"], 7, undefined])
        assert.equal((await ask("/v1/completions", { prompt })).status, 400, JSON.stringify(prompt));
    });
    await withServer({}, async (ask) => {
      const refused: Loose = await (await ask("/v1/completions", { prompt: "hi" })).json();
      assert.equal(refused.error.code, "unsupported_model");
    });
  });
});
