/**
 * How many tokens a text has, where there is no tokenizer. One estimate for everybody: budgets, caps, shares and
 * reports that guess differently contradict each other.
 */
import type { Message } from "../../core/message.ts";
import type { ChatRequest } from "../../core/model.ts";

export type CountTokens = (text: string) => number;

/** A cautious guess: four ASCII characters or one other character to a token. */
export function estimateTokens(text: string): number {
  if (!/[^\x00-\x7f]/.test(text)) return Math.ceil(text.length / 4);
  let wide = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) wide++;
  return Math.ceil((text.length - wide) / 4) + wide;
}

/** Role markers around one message, as chat templates write them. */
const messageOverhead = 4;

/** Tokens of one message as a chat template would write it. */
export function messageTokens(message: Message, countTokens: CountTokens = estimateTokens): number {
  return once(message, countTokens, () => {
    const calls = (message.toolCalls ?? []).map((call) => countTokens(call.name) + countTokens(call.arguments));
    return calls.reduce((sum, tokens) => sum + tokens, messageOverhead + countTokens(message.content));
  });
}

/** Tokens of tool definitions, which servers put in front of the messages. */
export function toolTokens(tools: readonly object[] | undefined, countTokens: CountTokens = estimateTokens): number {
  if (!tools || tools.length === 0) return 0;
  return once(tools, countTokens, () => countTokens(JSON.stringify(tools)));
}

export function requestTokens(
  request: Pick<ChatRequest, "messages" | "tools">,
  countTokens: CountTokens = estimateTokens,
): number {
  let tokens = toolTokens(request.tools, countTokens);
  for (const message of request.messages) tokens += messageTokens(message, countTokens);
  return tokens;
}

const counted = new WeakMap<CountTokens, WeakMap<object, number>>();

/** Histories repeat the same message objects at every call, so each is counted once per counter. */
function once(thing: object, countTokens: CountTokens, count: () => number): number {
  let counts = counted.get(countTokens);
  if (!counts) counted.set(countTokens, (counts = new WeakMap()));
  let tokens = counts.get(thing);
  if (tokens === undefined) counts.set(thing, (tokens = count()));
  return tokens;
}
