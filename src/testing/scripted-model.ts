/**
 * A model that says what a test tells it to say. Each call takes the next line of the script (or asks a function), is cut
 * at stop strings as a real server cuts, and arrives in small chunks. With a tokenizer it also speaks tokens, with
 * log-probabilities, as an engine does.
 */

import { estimateTokens } from "../base/count/token-estimate.ts";
import type { ContinueEvent, ContinueRequest, Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

export interface ScriptedModelOptions {
  name?: string;
  /** Characters per chunk; 0 sends everything at once. */
  chunkSize?: number;
  /** Speak tokens: ids from this tokenizer, one per delta. */
  tokenizer?: Tokenizer;
  contextWindow?: number;
  /** Continue after stop strings, as some servers do. */
  ignoreStops?: boolean;
  /** Obey `allowedTokens`: where the script wants a forbidden token, the first allowed one is taken instead. */
  obeyMasks?: boolean;
}

/** The next text to write, or an error to throw; the request shows what the model was given. */
export type Script =
  | readonly (string | Error)[]
  | ((request: ContinueRequest, call: number) => string | Error | Promise<string | Error>);

/** A model that follows a script, and remembers what it was asked. */
export function scriptedModel(
  script: Script,
  options: ScriptedModelOptions = {},
): Model & { readonly requests: ContinueRequest[] } {
  const { chunkSize = 7, tokenizer } = options;
  const requests: ContinueRequest[] = [];
  const count = (text: string) => tokenizer?.encodeWithSpecials(text).length ?? estimateTokens(text);

  async function nextText(request: ContinueRequest, call: number): Promise<string> {
    const next = typeof script === "function" ? await script(request, call) : script[call];
    if (next instanceof Error) throw next;
    return next ?? "";
  }

  return {
    name: options.name ?? "scripted",
    requests,
    capabilities: {
      tokens: tokenizer !== undefined,
      grammar: tokenizer && options.obeyMasks ? "masks" : "none",
      contextWindow: options.contextWindow,
    },
    tokenizer,
    countTokens: count,
    encodeText: tokenizer ? (text) => tokenizer.encode(text) : undefined,
    encodePrompt: tokenizer ? (prompt) => tokenizer.encodePrompt(prompt) : undefined,
    async *continue(request) {
      const call = requests.length;
      requests.push({ ...request, tokens: request.tokens?.slice() });
      request.signal?.throwIfAborted();
      const whole = await nextText(request, call);
      const { text, finish } = options.ignoreStops ? { text: whole, finish: "end" as const } : cut(whole, request.stop);
      const promptTokens =
        request.tokens?.length ?? count(request.prompt.map((m) => m.content).join("") + request.text);
      if (tokenizer) yield* speakTokens(tokenizer, text, finish, promptTokens, request, options.obeyMasks === true);
      else yield* speakText(text, finish, promptTokens, request, chunkSize, count);
    },
  };
}

function cut(text: string, stops: readonly string[]): { text: string; finish: "stop" | "end" } {
  let end = -1;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at !== -1 && (end === -1 || at + stop.length < end)) end = at + stop.length;
  }
  return end === -1 ? { text, finish: "end" } : { text: text.slice(0, end), finish: "stop" };
}

async function* speakText(
  text: string,
  finish: "stop" | "end",
  promptTokens: number,
  request: ContinueRequest,
  chunkSize: number,
  count: (text: string) => number,
): AsyncGenerator<ContinueEvent> {
  const fits = count(text) <= request.maxTokens;
  const said = fits ? text : text.slice(0, request.maxTokens * 4);
  const size = chunkSize > 0 ? chunkSize : Math.max(1, said.length);
  for (let from = 0; from < said.length; from += size) {
    request.signal?.throwIfAborted();
    yield { type: "delta", text: said.slice(from, from + size) };
  }
  const usage = { promptTokens, completionTokens: count(said) };
  yield { type: "end", finish: fits ? finish : "length", usage };
}

async function* speakTokens(
  tokenizer: Tokenizer,
  text: string,
  finish: "stop" | "end",
  promptTokens: number,
  request: ContinueRequest,
  obeyMasks: boolean,
): AsyncGenerator<ContinueEvent> {
  const wanted = tokenizer.encodeWithSpecials(text);
  const sampled: number[] = [];
  let decoded = "";
  let ended: "stop" | "end" | "length" = finish;
  for (let index = 0; ; index++) {
    if (sampled.length === request.maxTokens) {
      ended = sampled.length === wanted.length && !obeyMasks ? finish : "length";
      break;
    }
    let token = wanted[index];
    const allowed = obeyMasks ? request.allowedTokens?.(sampled) : undefined;
    if (allowed && (token === undefined || !allowed.includes(token))) {
      token = allowed[(index * 7919 + sampled.length) % allowed.length];
    }
    if (token === undefined || tokenizer.endOfTurn.includes(token)) break;
    sampled.push(token);
    const all = tokenizer.decode(sampled);
    const piece = all.startsWith(decoded) && !all.endsWith("\ufffd") ? all.slice(decoded.length) : "";
    decoded += piece;
    yield { type: "delta", text: piece, tokens: [token], logprobs: [-0.25] };
    if (request.stop.some((stop) => decoded.endsWith(stop))) {
      ended = "stop";
      break;
    }
  }
  yield { type: "end", finish: ended, usage: { promptTokens, completionTokens: sampled.length } };
}
