/**
 * A model continues a chain: it is given the prompt and everything decoded so far, and continues until a stop string.
 * It knows nothing of tools. A chat model answers messages and may call tools; judges, page summaries and the team's
 * agents use it. One client may be both.
 */
import type { Message, ToolCall } from "./message.ts";
import type { Tokenizer } from "./tokenizer.ts";
import type { JsonSchema } from "./tool.ts";

export interface ContinueRequest {
  /** System and user messages: constant over the chain. */
  prompt: readonly Message[];
  /** Everything decoded so far: model text and observations. Grows by appending only, so prefix caches hold. */
  text: string;
  /** The same as token ids, prompt included, for models that work on tokens. */
  tokens?: readonly number[];
  stop: readonly string[];
  maxTokens: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  seed?: number;
  /** Asks for the entropy at each token; models that can't tell leave it out. */
  entropies?: boolean;
  /** Called per token by models that can mask: which token ids may come next (undefined = all). */
  allowedTokens?: (sampled: readonly number[]) => readonly number[] | undefined;
  /** The same for all calls of one chain: routes to the server or slot that holds its prefix. */
  sessionKey?: string;
  signal?: AbortSignal;
}

/** What a call cost, as the server says. */
export interface CallUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens?: number;
  /** Part of the completion that was hidden reasoning. */
  reasoningTokens?: number;
}

export type ContinueEvent =
  | { type: "delta"; text: string; tokens?: number[]; logprobs?: number[]; entropies?: number[] }
  | {
      type: "end";
      /** `stop`: a stop string (included in the text); `length`: maxTokens; `end`: the model ended its turn. */
      finish: "stop" | "length" | "end";
      usage: CallUsage;
      /** Set when the request was rendered to tokens: prompt ids of the whole call. */
      promptTokens?: number[];
      /** Which policy wrote it, where the engine counts versions. */
      policyVersion?: number;
    };

export interface Model {
  readonly name: string;
  readonly capabilities: {
    tokens: boolean;
    /** Whether it takes token masks (`allowedTokens`). */
    grammar: "none" | "masks";
    contextWindow?: number;
  };
  continue(request: ContinueRequest): AsyncIterable<ContinueEvent>;
  /** Exact where the model has its tokenizer here; callers estimate otherwise. */
  countTokens?(text: string): number;
  /** Ids of plain text; special-token strings in it are never turned into special tokens. */
  encodeText?(text: string): number[];
  /** Ids of the prompt as the model's chat template renders it, up to where the model starts writing. */
  encodePrompt?(prompt: readonly Message[]): number[];
  /** Present where the model works on tokens: tags become special ids, and answers in a schema are held to it by token masks. */
  readonly tokenizer?: Tokenizer;
  /** What its server reads as special tokens, where the server or its chat template says so; a tokenizer says it itself. */
  readonly specialStrings?: readonly string[];
  /** Finds out what the server can do; called once before the first call, so that `capabilities` are true from then on. */
  prepare?(signal?: AbortSignal): Promise<void>;
  /** Forgets what the model keeps for a chain (its cache). */
  endSession?(sessionKey: string): void;
  close?(): Promise<void>;
}

export interface ChatRequest {
  messages: readonly Message[];
  tools?: readonly { name: string; description: string; parameters: JsonSchema }[];
  maxTokens?: number;
  temperature?: number;
  seed?: number;
  /** Ask for one JSON object. */
  json?: boolean;
  signal?: AbortSignal;
  onDelta?: (text: string) => void;
}

/** One tool of a request. */
export type ChatTool = NonNullable<ChatRequest["tools"]>[number];

export interface ChatReply {
  text: string;
  reasoning?: string;
  toolCalls: ToolCall[];
  finish: "stop" | "length" | "tool_calls" | "other";
  usage: CallUsage;
  responseId?: string;
}

export interface ChatModel {
  readonly name: string;
  chat(request: ChatRequest): Promise<ChatReply>;
  countTokens?(text: string): number;
  /** What its server reads as special tokens, where it says so. */
  readonly specialStrings?: readonly string[];
}

/** US dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
  cachedInput?: number;
  /** Of hidden reasoning; the price of output where absent. */
  reasoning?: number;
}

/** What models cost: one price for all of them, or prices by name. */
export type Prices = Price | Readonly<Record<string, Price>>;
