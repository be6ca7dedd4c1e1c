import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { type MakeModel, modelConformance } from "../../test/fixtures/conformance/model-conformance.ts";
import { fakeEngine } from "../../test/fixtures/fake-engine.ts";
import { startModelServer } from "../../test/fixtures/model-server.ts";
import { limiter } from "../base/work/limiter.ts";
import { limitedModel, wrapModel } from "../base/work/wrap-model.ts";
import { scriptedModel } from "../testing/index.ts";
import { engineModel } from "./engine-model.ts";
import { type OpenAICompatibleOptions, openaiCompatible } from "./openai-compatible.ts";

const specials = ["<think>", "</think>", "<answer>", "</answer>"];
const vllm = { data: [{ id: "m", owned_by: "vllm", max_model_len: 4096 }] };

const served =
  (options: OpenAICompatibleOptions, ignoreStream = false): MakeModel =>
  async (texts) => {
    const { tokenizer } = options;
    const server = await startModelServer({
      answer: (_request, index) => texts[index] ?? "",
      models: vllm,
      keepStop: true,
      ...(tokenizer && { tokenizer }),
      ignoreStream,
    });
    return { model: openaiCompatible({ baseURL: server.url, retries: 0, ...options }), close: server.close };
  };

const makers: Record<string, MakeModel> = {
  "openaiCompatible, continue": served({ mode: "continue" }),
  "openaiCompatible, turns": served({ mode: "turns" }),
  "openaiCompatible, completions by template": served({
    mode: "completions",
    chatTemplate: (prompt) => prompt.map(({ content }) => content).join("\n"),
  }),
  "openaiCompatible, completions by ids": served({ tokenizer: byteTokenizer(specials) }),
  "openaiCompatible, a server without streams": served({ mode: "continue" }, true),
  "engineModel, tags as special tokens": (texts) => {
    const tokenizer = byteTokenizer(specials);
    return {
      model: engineModel(
        fakeEngine(tokenizer, (_, call) => texts[call] ?? ""),
        tokenizer,
      ),
    };
  },
  "engineModel, plain tokens and no masks": (texts) => {
    const tokenizer = byteTokenizer();
    const engine = fakeEngine(tokenizer, (_, call) => texts[call] ?? "", { tokenMasks: false });
    return { model: engineModel(engine, tokenizer) };
  },
  scriptedModel: (texts) => ({ model: scriptedModel(texts) }),
  "scriptedModel with tokens": (texts) => ({ model: scriptedModel(texts, { tokenizer: byteTokenizer(specials) }) }),
};

const wrappers: Record<string, (make: MakeModel) => MakeModel> = {
  plain: (make) => make,
  wrapModel: (make) => async (texts) => {
    const { model, close } = await make(texts);
    return { model: wrapModel(model, {}), close };
  },
  "wrapModel, a narrower window": (make) => async (texts) => {
    const { model, close } = await make(texts);
    return { model: wrapModel(model, { capabilities: (own) => ({ ...own, contextWindow: 2048 }) }), close };
  },
  limitedModel: (make) => async (texts) => {
    const { model, close } = await make(texts);
    return { model: limitedModel(model, limiter({ concurrency: 2 })), close };
  },
};

for (const [name, make] of Object.entries(makers)) {
  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    describe(`${name}, ${wrapper}`, () => {
      for (const { name: behaviour, run } of modelConformance(wrap(make))) it(behaviour, run);
    });
  }
}
