/**
 * A model behind a server as a teacher: it is sent the very ids that a student saw and wrote, and answers with the
 * log-probability of each (completions with `echo`, as vLLM does it). The tokenizer is the server model's own, so
 * that another vocabulary than the student's can be refused.
 */

import { type HttpOptions, httpClient } from "../base/http/http-client.ts";
import { inParallel } from "../base/work/limiter.ts";
import type { Example } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

export interface ServedTeacherOptions extends HttpOptions {
  /** With the version: `http://localhost:8000/v1`. */
  baseURL: string;
  model: string;
  apiKey?: string;
  tokenizer: Tokenizer;
  /** Requests at the same time; 8 by default. */
  concurrency?: number;
}

/** A model for `teacher` of `trainRl`; close it when done. */
export function servedTeacher(options: ServedTeacherOptions) {
  const { baseURL, model, apiKey, tokenizer, concurrency = 8 } = options;
  const http = httpClient(options);
  const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  return {
    name: model,
    tokenizer,
    close: () => http.close(),
    async score(examples: readonly Example[], temperature: number): Promise<Float32Array[]> {
      if (temperature !== 1)
        throw new CoaError("usage", `a served teacher scores at temperature 1, not ${temperature}: sample at 1`);
      return inParallel(examples, concurrency, ({ input, targets }) => {
        const tokens = [...input, targets.at(-1)!];
        // One token more than asked: not every server takes 0.
        const body = { model, prompt: tokens, max_tokens: 1, echo: true, logprobs: 1, temperature: 1 };
        return http.retry(async () => {
          const answer = await http.send("POST", `${baseURL.replace(/\/$/, "")}/completions`, body, { headers });
          return readScores(JSON.parse(await answer.text()), tokens.length, model);
        });
      });
    },
  };
}

function readScores(answer: unknown, length: number, model: string): Float32Array {
  const { choices } = answer as { choices?: { logprobs?: { token_logprobs?: (number | null)[] } }[] };
  const scores = choices?.[0]?.logprobs?.token_logprobs?.slice(1, length);
  if (scores?.length !== length - 1 || scores.some((score) => typeof score !== "number"))
    throw new CoaError(
      "model",
      `${model} does not score the tokens it is sent: its completions need echo with logprobs (vLLM has them)`,
    );
  return Float32Array.from(scores as number[]);
}
