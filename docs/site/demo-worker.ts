/**
 * The shipped model inside a visitor's browser: the decoder of the package, the chain loop of the package, and a lab world whose
 * search, pages and sums are in memory. The weights come from beside the page; nothing else is fetched.
 */
import { z } from "zod";
import { runChain } from "../../src/chain/run-chain.ts";
import type { Sample, Sampler } from "../../src/core/engine.ts";
import type { ModelUse } from "../../src/core/model-use.ts";
import { defineTask } from "../../src/core/task.ts";
import { configFromHuggingFace } from "../../src/engines/embedded/model/config.ts";
import { createSampler } from "../../src/engines/embedded/sample/create-sampler.ts";
import { createWorld } from "../../src/lab/create-world.ts";
import { memoryLabTools } from "../../src/lab/memory-lab-tools.ts";
import { worldTasks } from "../../src/lab/world-tasks.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import { tokenizerFromJson } from "../../src/tokenizers/load-tokenizer.ts";
import type { FromDemo, ToDemo } from "./demo-messages.ts";

z.config({ jitless: true }); // the page forbids code made from text

const post = (message: FromDemo) => postMessage(message);

async function open() {
  let bytes = 0;
  const read = async (name: string) => {
    const response = await fetch(`model/${name}`);
    if (!response.ok) throw new Error(`${name}: HTTP ${response.status}`);
    const buffer = await response.arrayBuffer();
    bytes += buffer.byteLength;
    return buffer;
  };
  const json = async (name: string) => JSON.parse(new TextDecoder().decode(await read(name)));
  const use = (await json("coa.json")) as ModelUse;
  const config = configFromHuggingFace(await json("config.json"));
  const { eos_token_id } = await json("generation_config.json");
  const tokenizer = tokenizerFromJson(await json("tokenizer.json"), await json("tokenizer_config.json"), {
    endOfTurn: [eos_token_id].flat(),
  });
  const parameters = tensorsOf(await read("model.safetensors"));
  const sampler = createSampler(config, parameters, { maxBatch: 1, cacheBytes: 2 ** 24 });
  return { use, tokenizer, model: engineModel(oneByOne(sampler, config), tokenizer, { name: "afm-lab-2m" }), bytes };
}

/** The tensors of a safetensors file of 16-bit floats. */
function tensorsOf(file: ArrayBuffer) {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  delete header.__metadata__;
  return new Map(
    Object.entries<{ shape: number[]; data_offsets: [number, number] }>(header).map(([name, entry]) => {
      const bits = new Uint16Array(file.slice(8 + length + entry.data_offsets[0], 8 + length + entry.data_offsets[1]));
      return [name, { shape: entry.shape, data: Float32Array.from(bits, half) }] as const;
    }),
  );
}

/** The number that 16 bits hold: not every browser has Float16Array. */
function half(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

/** One sequence at a time, in this thread. */
function oneByOne(
  sampler: ReturnType<typeof createSampler>,
  config: { vocabularySize: number; maxContext: number },
): Sampler {
  let id = 0;
  const { maxContext } = sampler;
  return {
    name: "browser",
    capabilities: {
      losses: {},
      logprobs: "sampled",
      fullParameter: false,
      gradientClipping: false,
      gradientNorm: false,
      tokenMasks: true,
      overlap: false,
      maxContext,
      vocabularySize: config.vocabularySize,
    },
    endSession: (key) => sampler.endSession(key),
    async sample({ allowedTokens, onToken, signal: _, stopStrings: _strings, ...request }) {
      sampler.submit({ ...request, id: ++id, masked: allowedTokens !== undefined });
      const [tokens, logprobs]: [number[], number[]] = [[], []];
      for (;;) {
        if (allowedTokens) sampler.allow(id, allowedTokens(tokens));
        for (const event of sampler.step()) {
          if (event.type === "failed") throw new Error(event.message);
          if (event.type === "finished")
            return {
              tokens,
              logprobs,
              finish: event.finish,
              policyVersion: 0,
              computedTokens: event.computedTokens,
            } satisfies Sample;
          tokens.push(event.token);
          logprobs.push(event.logprob);
          onToken?.(event.token, event.logprob);
        }
      }
    },
  };
}

const opened = open();
opened.then(
  ({ bytes }) => post({ type: "ready", megabytes: bytes / 1e6 }),
  (error) => post({ type: "failed", message: String(error) }),
);

addEventListener("message", async ({ data }: MessageEvent<ToDemo>) => {
  try {
    const { model, tokenizer, use } = await opened;
    const world = createWorld({ seed: data.world, pages: 600, split: "test" });
    const task = worldTasks(world, { count: data.number, seed: data.world })[data.number - 1]!;
    const { question, answers } = data.question ? { question: data.question, answers: [] } : task;
    const prompt = tokenizer.encodePrompt([{ role: "user", content: question }]);
    const pieces = (tokens: readonly number[]) => tokens.map((token) => tokenizer.decode([token]));
    post({ type: "question", question, answers, prompt: pieces(prompt) });
    await runChain(defineTask({ id: "demo", question, answers: [...answers] }), {
      model,
      tools: memoryLabTools(world),
      profile: use.language.profile,
      systemPrompt: false,
      limits: use.limits,
      sampling: { temperature: 0, seed: 0 },
      onEvent: (event) =>
        post({
          type: "event",
          event,
          ...(event.type === "segment-end" && { pieces: pieces(event.segment.tokens ?? []) }),
        }),
    });
  } catch (error) {
    post({ type: "failed", message: String(error) });
  }
});
