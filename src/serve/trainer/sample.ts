/** Answers one sampling request of the Tinker API: ids or strings stop it, and prompts are scored where that is asked for. */
import { Refusal } from "../../base/http/refusal.ts";
import { toSamples, type WireSampleRequest, type WireSamples } from "../../base/wire/tinker.ts";
import type { Policy, Sample, SampleRequest } from "../../core/engine.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { ServedPolicy } from "./trainer-models.ts";

/** Samples from a policy as the request says. */
export async function answerSample(
  { policy, score }: ServedPolicy,
  asked: WireSampleRequest,
  session: string,
  tokenizer: Tokenizer | undefined,
): Promise<WireSamples> {
  const { sampling_params: params, num_samples: n } = asked;
  const tokens = asked.prompt.chunks.flatMap((chunk) => chunk.tokens);
  if (asked.topk_prompt_logprobs)
    throw new Refusal(400, "topk_prompt_logprobs is not supported; only prompt_logprobs is");
  const { maxContext } = policy.capabilities;
  if (tokens.length >= maxContext)
    throw new Refusal(400, `the prompt has ${tokens.length} tokens and the model takes ${maxContext}`);
  const stops = typeof params.stop === "string" ? [params.stop] : (params.stop ?? []);
  const strings = stops.filter((stop) => typeof stop === "string");
  const request: SampleRequest = {
    tokens,
    maxTokens: Math.min(params.max_tokens!, maxContext - tokens.length),
    temperature: params.temperature,
    ...(params.top_k > 0 ? { topK: params.top_k } : {}),
    ...(params.top_p < 1 ? { topP: params.top_p } : {}),
    ...(params.seed == null ? {} : { seed: params.seed }),
    stopTokens: stops.filter((stop) => typeof stop === "number"),
    // Turns of one chain share their seq_id: what was computed for the last is kept for the next.
    ...(n === 1 && asked.seq_id != null ? { sessionKey: `${session}:${asked.seq_id}` } : {}),
  };
  const scored = asked.prompt_logprobs ? score(tokens).then((row) => [...row]) : undefined;
  const samples = manySamples();
  await Promise.allSettled([scored, samples]); // neither fails unhandled while the other is awaited
  return toSamples(await samples, tokens.length, await scored);

  async function manySamples(): Promise<Sample[]> {
    if (strings.length === 0) return policy.sampleMany(request, n);
    if (!tokenizer) throw new Refusal(400, "this server stops at token ids only: it has no tokenizer");
    return Promise.all(
      Array.from({ length: n }, (_, at) => {
        const seed = request.seed === undefined ? {} : { seed: request.seed + at };
        return untilText(policy, { ...request, ...seed }, strings, tokenizer);
      }),
    );
  }
}

async function untilText(
  policy: Policy,
  request: SampleRequest,
  strings: readonly string[],
  tokenizer: Tokenizer,
): Promise<Sample> {
  const stop = new AbortController();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const written: Pick<Sample, "tokens" | "logprobs"> = { tokens: [], logprobs: [] };
  let text = "";
  const onToken = (token: number, logprob: number) => {
    if (stop.signal.aborted) return;
    written.tokens.push(token);
    written.logprobs.push(logprob);
    text += decoder.decode(tokenizer.tokenBytes(token), { stream: true });
    if (strings.some((string) => text.includes(string))) stop.abort();
  };
  return policy.sample({ ...request, onToken, signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
    return { ...written, finish: "stop" as const, policyVersion: 0 };
  });
}
