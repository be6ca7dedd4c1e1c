/**
 * The ids and log-probabilities of a reply, where its server gave them: as OpenAI's chat and completions do, and servers
 * that add ids to them (vLLM's `token_ids`), whole or streamed. A trainer must not tokenise a sampled text again.
 */
import type { WireApi } from "../base/wire/wire-api.ts";
import { asArray, asNumber, asObject, asString, objectsOf, parseJson } from "../core/json-value.ts";
import type { TeamStep } from "../core/team-run.ts";
import { streamedParts } from "./read-answer.ts";

/** What of a reply's sampling is known; undefined where nothing is, or where the lists do not fit each other. */
export function sampledTokens(api: WireApi, body: string, contentType: string): TeamStep["sampled"] {
  if (!/"(?:logprobs|token_ids)"\s*:\s*[[{]/.test(body)) return undefined;
  const parts = streamedParts(api, body, contentType) ?? [parseJson(body)];
  const tokens: number[] = [];
  const logprobs: number[] = [];
  const texts: string[] = [];
  for (const choice of parts.flatMap((part) => objectsOf(asObject(part)?.["choices"]).slice(0, 1))) {
    if ((asNumber(choice["index"]) ?? 0) !== 0) continue;
    tokens.push(...numbersOf(choice["token_ids"]));
    const given = asObject(choice["logprobs"]);
    // Completions have lists side by side, chat has a record for each token.
    logprobs.push(...numbersOf(given?.["token_logprobs"]));
    texts.push(...asArray(given?.["tokens"]).map((text) => asString(text) ?? ""));
    for (const one of objectsOf(given?.["content"])) {
      logprobs.push(asNumber(one["logprob"]) ?? Number.NaN);
      texts.push(asString(one["token"]) ?? "");
    }
  }
  const fits = [logprobs, texts].every(({ length }) => length === 0 || tokens.length === 0 || length === tokens.length);
  if (tokens.length + logprobs.length === 0 || !fits || logprobs.some(Number.isNaN)) return undefined;
  return {
    ...(tokens.length > 0 && { tokens }),
    ...(logprobs.length > 0 && { logprobs }),
    ...(texts.length > 0 && tokens.length === 0 && { texts }),
  };
}

function numbersOf(value: unknown): number[] {
  return asArray(value).map((one) => asNumber(one) ?? Number.NaN);
}
