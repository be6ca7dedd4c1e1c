/**
 * Any server that speaks the OpenAI protocol, as a model that continues chains and as a chat model. A chain is one
 * sequence, and there are three ways to make such a server continue it: `completions` sends the raw text (or ids) in
 * the model's own chat template; `continue` sends the chain as a final assistant message that the server continues;
 * `turns` makes messages of it, for APIs that allow neither. `auto` asks the server what it is, chooses the best way,
 * and says which.
 */
import { env } from "node:process";
import { HttpError, type HttpOptions, httpClient } from "../base/http/http-client.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { type Limiter, semaphore } from "../base/work/limiter.ts";
import { CoaError, messageOf, UsageError } from "../core/errors.ts";
import { asNumber, asObject, parseJson } from "../core/json-value.ts";
import type { ChatModel, Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { RenderPrompt } from "../tokenizers/chat-template.ts";
import { llamaAddress } from "./llama-completion.ts";
import { chatOnce } from "./openai-chat.ts";
import { continueText } from "./openai-continue.ts";
import { readServerFacts, type ServerFacts, type ServerKind, servesWeights, specialsIn } from "./server-kind.ts";

export interface OpenAICompatibleOptions extends HttpOptions {
  /** With the version: `http://localhost:8000/v1`; the word `openai` is OpenAI's own. By default `OPENAI_BASE_URL`. */
  baseURL?: string;
  /** By default `OPENAI_MODEL`, else the first that the server offers. */
  model?: string;
  /** By default `OPENAI_API_KEY`. */
  apiKey?: string;
  mode?: "completions" | "continue" | "turns" | "auto";
  /** What the server is, where it does not say so itself. @internal */
  server?: ServerKind;
  /** The model's chat template, for raw completions. @internal */
  chatTemplate?: RenderPrompt;
  /** Work on token ids: the server gets ids and returns ids with log-probabilities. */
  tokenizer?: Tokenizer;
  /** The model's own window; where the server names one too, the smaller one counts. */
  contextWindow?: number;
  extraBody?: Record<string, unknown>;
  /** Called with what was found out and chosen. */
  onNote?: (text: string) => void;
}

/** What a request needs to know of its server. */
export interface Connection {
  options: OpenAICompatibleOptions;
  baseURL: string;
  http: ReturnType<typeof httpClient>;
  /** Known after `prepare`. */
  facts: ServerFacts;
  model: string;
  mode: "completions" | "continue" | "turns";
  /** Set where ids are sent and returned. */
  tokenizer: Tokenizer | undefined;
  headers(sessionKey: string | undefined): Record<string, string>;
}

export function openaiCompatible(options: OpenAICompatibleOptions = {}): Model &
  ChatModel & {
    readonly mode: Exclude<OpenAICompatibleOptions["mode"], "auto" | undefined>;
    prepare(signal?: AbortSignal): Promise<void>;
    close(): Promise<void>;
  } {
  checkOptions("openaiCompatible", options);
  const baseURL = addressOf(options.baseURL ?? env["OPENAI_BASE_URL"]);
  const apiKey = options.apiKey ?? env["OPENAI_API_KEY"];
  const { tokenizer } = options;
  const ownSpecials = [...(tokenizer?.specialTokens.keys() ?? [])];
  const http = httpClient(options);
  const connection: Connection = {
    options,
    baseURL,
    http,
    facts: { kind: options.server ?? readServerFacts(baseURL, undefined, {}).kind, models: [] },
    model: options.model ?? env["OPENAI_MODEL"] ?? "",
    mode: options.mode === undefined || options.mode === "auto" ? "turns" : options.mode,
    tokenizer,
    headers: (sessionKey) => ({
      ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
      // A router finds the server that has the prefix of this chain.
      ...(sessionKey ? { "x-session-id": sessionKey } : {}),
    }),
  };
  let preparing: Promise<void> | undefined;
  let turn: Limiter | undefined;

  async function ask(signal: AbortSignal | undefined): Promise<void> {
    const automatic = options.mode === undefined || options.mode === "auto";
    let failure: unknown;
    if (!options.server || connection.model === "") {
      try {
        const answer = await http.send("GET", `${baseURL}/models`, undefined, {
          headers: connection.headers(undefined),
          signal,
        });
        const facts = readServerFacts(baseURL, connection.model || undefined, JSON.parse(await answer.text()));
        connection.facts = { ...facts, kind: options.server ?? facts.kind };
      } catch (error) {
        if (signal?.aborted) throw error;
        if (error instanceof HttpError && (error.status === 401 || error.status === 403)) throw error;
        failure = error;
        options.onNote?.(`${baseURL} does not say what it is: ${messageOf(error)}`);
      }
    }
    if (connection.facts.kind === "llama.cpp") await describe(llamaAddress(baseURL, "props"), signal);
    if (connection.facts.kind === "vllm") await describe(baseURL.replace(/\/v1$/, "/tokenizer_info"), signal);
    connection.model ||= connection.facts.models[0] ?? "";
    if (connection.model === "") {
      throw new CoaError(
        "model",
        failure
          ? `${baseURL} can't be asked for its models: ${messageOf(failure)}. Is the base URL right? If it is, name a model (option model, or OPENAI_MODEL).`
          : `${baseURL} lists no models: name one (option model, or OPENAI_MODEL)`,
        { code: failure instanceof CoaError ? failure.code : "not-found", cause: failure },
      );
    }
    // Where both are given, ids are for the servers that return them, and the template is for the others.
    if (tokenizer && options.chatTemplate && !servesWeights(connection.facts.kind)) connection.tokenizer = undefined;
    if (automatic) {
      connection.mode =
        tokenizer || options.chatTemplate ? "completions" : servesWeights(connection.facts.kind) ? "continue" : "turns";
    }
    if (connection.mode === "completions" && !tokenizer && !options.chatTemplate) {
      throw new CoaError(
        "model",
        "mode completions needs the model's chat template (chatTemplateOf(folder)) or its tokenizer",
      );
    }
    options.onNote?.(`${connection.model} at ${baseURL} (${connection.facts.kind}): ${connection.mode}`);
  }
  /** What the server says of its tokenizer; llama.cpp divides its context among its slots and tells what one chain gets. */
  async function describe(address: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      const answer = await http.send("GET", address, undefined, { headers: connection.headers(undefined), signal });
      const props = asObject(parseJson(await answer.text()));
      const window = asNumber(asObject(props?.["default_generation_settings"])?.["n_ctx"]);
      const all = connection.facts.contextWindow ?? 0;
      // Slots that share one cache fail each other's calls when it is full: then one call is made at a time.
      if (window && (asNumber(props?.["total_slots"]) ?? 1) * window > all) turn = semaphore(1);
      connection.facts = { ...connection.facts, specials: specialsIn(props), ...(window && { contextWindow: window }) };
    } catch (error) {
      if (signal?.aborted) throw error; // an old server, or one that hides it: what /models says is kept
    }
  }
  const prepare = (signal?: AbortSignal) => {
    preparing ??= ask(signal).catch((error) => {
      preparing = undefined; // the server may answer the next call
      throw error;
    });
    return preparing;
  };

  return {
    get name() {
      return connection.model || "openai-compatible";
    },
    get mode() {
      return connection.mode;
    },
    get capabilities() {
      return {
        tokens: connection.tokenizer !== undefined,
        grammar: "none" as const,
        contextWindow: smallest(options.contextWindow, connection.facts.contextWindow),
      };
    },
    get tokenizer() {
      return connection.tokenizer;
    },
    get specialStrings() {
      return connection.facts.specials ?? ownSpecials;
    },
    ...(tokenizer
      ? {
          countTokens: (text: string) => tokenizer.encodeWithSpecials(text).length,
          encodeText: (text: string) => tokenizer.encode(text),
          encodePrompt: tokenizer.encodePrompt.bind(tokenizer),
        }
      : {}),
    prepare,
    continue: (request) =>
      continueText(connection, request, async () => {
        await prepare(request.signal);
        return turn?.acquire(request.signal);
      }),
    async chat(request) {
      await prepare(request.signal);
      return chatOnce(connection, request);
    },
    close: () => http.close(),
  };
}

/** The model's window and the server's: the smaller one counts. */
function smallest(...windows: (number | undefined)[]): number | undefined {
  const known = windows.filter((window) => window !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** No outside host is ever chosen without being named. */
function addressOf(given: string | undefined): string {
  if (!given)
    throw new UsageError(
      'openaiCompatible needs to know its server: pass baseURL or set OPENAI_BASE_URL (the word "openai" chooses OpenAI itself)',
    );
  if (given === "openai") return "https://api.openai.com/v1";
  if (!/^https?:$/.test(URL.parse(given)?.protocol ?? "")) {
    throw new UsageError(`baseURL must begin with http:// or https://, or be the word "openai", not "${given}"`);
  }
  return given.replace(/\/+$/, "");
}
