import type { SampleRequest } from "../../core/engine.ts";
import { UsageError } from "../../core/errors.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { textFlags, tokenizerOf, tokensOf } from "./model-input.ts";

export default defineCommand({
  name: "model sample",
  examples: [
    'coa model sample .coa/models/lab --text "<think> " --max-tokens 100 --temperature 0',
    'coa model sample .coa/models/lab --question "Where is the source of the Tane?" --count 4 --seed 1 --json',
  ],
  summary: "Let a model continue a text, or answer a question, without tools.",
  arguments: "<model folder>",
  options: {
    ...textFlags,
    question: { type: "string", short: "q", valueName: "text", describe: "A question, put through the chat template" },
    "max-tokens": { type: "string", default: "256", valueName: "n", describe: "Tokens to sample at most" },
    temperature: { type: "string", default: "1", valueName: "x", describe: "0 takes the likeliest token each time" },
    "top-p": { type: "string", valueName: "x", describe: "Only the likeliest tokens of this total probability" },
    "top-k": { type: "string", valueName: "n", describe: "Only the n likeliest tokens" },
    seed: { type: "string", valueName: "n", describe: "Gives the same samples again" },
    count: { type: "string", default: "1", valueName: "n", describe: "Samples to draw" },
  },
  async run({ values, positionals, out, signal }) {
    const folder = onePositional(this, positionals, "a model folder");
    const tokenizer = await tokenizerOf(folder);
    if (values.question !== undefined && !tokenizer) throw new UsageError(`${folder} has no tokenizer; use --tokens`);
    const tokens =
      values.question !== undefined
        ? tokenizer!.encodePrompt([{ role: "user", content: values.question }])
        : tokensOf(values, tokenizer, folder);
    const seed = numberOf(values.seed, "seed", { min: 0, integer: true });
    const request: SampleRequest = {
      tokens,
      maxTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true })!,
      temperature: numberOf(values.temperature, "temperature", { min: 0, max: 100 })!,
      topP: numberOf(values["top-p"], "top-p", { min: 0, max: 1 }),
      topK: numberOf(values["top-k"], "top-k", { min: 1, integer: true }),
      stopTokens: tokenizer?.endOfTurn ?? [],
      signal,
    };
    const count = numberOf(values.count, "count", { min: 1, integer: true })!;
    const engine = await openEmbeddedEngine({ folder });
    try {
      const samples = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          engine.sample({ ...request, ...(seed === undefined ? {} : { seed: seed + index }) }),
        ),
      );
      const shown = samples.map((sample) => ({
        ...sample,
        ...(tokenizer ? { text: tokenizer.decode(sample.tokens) } : {}),
      }));
      if (values.json) out.json({ model: folder, prompt: tokens, samples: shown });
      else for (const sample of shown) out.print(sample.text ?? sample.tokens.join(","));
      return 0;
    } finally {
      await engine.close();
    }
  },
});
