import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startModelServer } from "../../test/fixtures/model-server.ts";
import { semaphore } from "../base/work/limiter.ts";
import { limitedModel, wrapModel } from "../base/work/wrap-model.ts";
import type { ChatModel, Model } from "../core/model.ts";
import { openaiCompatible } from "./openai-compatible.ts";

function chatty(): ChatModel {
  let said = 0;
  return {
    name: "m",
    async chat() {
      return {
        text: `reply ${++said}`,
        toolCalls: [],
        finish: "stop",
        usage: { promptTokens: 1, completionTokens: 1 },
      };
    },
  };
}

describe("wrapModel", () => {
  it("changes what a model can do, and keeps what the model learns of the rest", async () => {
    const server = await startModelServer({
      answer: () => "",
      models: { data: [{ id: "learned", owned_by: "vllm", max_model_len: 4096 }] },
    });
    const model = openaiCompatible({ baseURL: server.url });
    const narrow = wrapModel(model, { capabilities: (own) => ({ ...own, contextWindow: 512 }) });
    assert.equal(narrow.capabilities.grammar, model.capabilities.grammar);
    await narrow.prepare();
    assert.deepEqual(narrow.capabilities, { tokens: false, grammar: "none", contextWindow: 512 });
    assert.equal(model.capabilities.contextWindow, 4096);
    await narrow.close();
    await server.close();
  });

  it("keeps what the model learns in prepare: name, context window, grammar", async () => {
    const server = await startModelServer({
      answer: () => "",
      models: { data: [{ id: "learned", owned_by: "vllm", max_model_len: 4096 }] },
    });
    const model = openaiCompatible({ baseURL: server.url });
    const places = semaphore(1);
    const wrapped = limitedModel(wrapModel(model, {}), places);
    assert.equal(wrapped.capabilities.contextWindow, undefined);
    await wrapped.prepare();
    assert.deepEqual(wrapped.capabilities, { tokens: false, grammar: "none", contextWindow: 4096 });
    assert.equal(wrapped.name, "learned");
    assert.equal(wrapped.mode, "continue");
    await wrapped.close();
    await server.close();
  });

  it("leaves absent what the model does not have, and calls methods on the model itself", () => {
    class Private {
      readonly name = "p";
      #count = 3;
      countTokens(text: string) {
        return text.length * this.#count;
      }
      chat = chatty().chat;
    }
    const wrapped = limitedModel(Object.freeze(new Private()), semaphore(1));
    assert.equal(wrapped.countTokens("ab"), 6);
    assert.equal(wrapped.countTokens, wrapped.countTokens);
    assert.equal("continue" in wrapped, false);
    assert.equal((wrapped as Partial<Model>).continue, undefined);
    assert.equal((wrapped as Partial<Model>).endSession, undefined);
  });
});
