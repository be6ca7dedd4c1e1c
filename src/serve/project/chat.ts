/**
 * Chains as OpenAI chat completions: roles are reasoning, each opening with its name on a line of its own; the answer is
 * content; calls of the client's own tools are `tool_calls`.
 */
import type { Json } from "../../core/json-value.ts";
import type { ClientCall } from "../client-tools.ts";
import { type ServedEvent, untold } from "../served-events.ts";
import { servedUsage } from "./served-usage.ts";

export interface ChatProjectionOptions {
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** A last chunk with the usage, as `stream_options.include_usage` asks. */
  includeUsage?: boolean;
  /** Show what tools returned as well. */
  observations?: boolean;
}

/** The chunks of a streamed completion, event by event. */
export function chatChunks(options: ChatProjectionOptions): (event: ServedEvent) => Json[] {
  const { id, model, created } = options;
  const roles = roleText(options);
  let first = true;
  let told = "";
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    id,
    object: "chat.completion.chunk",
    created,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  return (event) => {
    const chunks: Json[] = [];
    if (first) chunks.push(chunk({ role: "assistant", content: "" }));
    first = false;
    const text = roles(event);
    // vLLM's name and everybody else's: LangChain reads only the second, others either.
    if (text !== "") chunks.push(chunk({ reasoning: text, reasoning_content: text }));
    if (event.type === "answer-delta") {
      told += event.text;
      chunks.push(chunk({ content: event.text }));
    }
    if (event.type === "answer" && event.text !== told) chunks.push(chunk({ content: untold(event.text, told) }));
    if (event.type === "client-calls") {
      for (const [index, call] of event.calls.entries()) {
        const { function: called, ...rest } = toolCall(call);
        chunks.push(chunk({ tool_calls: [{ index, ...rest, function: { name: call.tool, arguments: "" } }] }));
        chunks.push(chunk({ tool_calls: [{ index, function: { arguments: called.arguments } }] }));
      }
    }
    if (event.type === "end") {
      chunks.push(chunk({}, finishOf(event)));
      if (options.includeUsage) {
        const usage = chatUsage(event);
        chunks.push({ id, object: "chat.completion.chunk", created, model, choices: [], usage });
      }
    }
    return chunks;
  };
}

/** The whole completion. */
export function chatCompletion(events: readonly ServedEvent[], options: ChatProjectionOptions): Json {
  const roles = roleText(options);
  const reasoning = events.map(roles).join("");
  const end = events.findLast((event) => event.type === "end")!;
  const calls = events.flatMap((event) => (event.type === "client-calls" ? event.calls.map(toolCall) : []));
  return {
    id: options.id,
    object: "chat.completion",
    created: options.created,
    model: options.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: calls.length > 0 ? null : (end.trajectory.answer ?? ""),
          refusal: null,
          ...(reasoning !== "" && { reasoning, reasoning_content: reasoning }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishOf(end),
      },
    ],
    usage: chatUsage(end),
  };
}

/** What an event adds to the text of the roles. */
function roleText({ observations }: Pick<ChatProjectionOptions, "observations">): (event: ServedEvent) => string {
  let begun = false;
  const line = (name: string) => {
    const text = `${begun ? "\n" : ""}${name}: `;
    begun = true;
    return text;
  };
  return (event) => {
    if (event.type === "role-start") return line(event.role);
    if (event.type === "role-delta") return event.text;
    if (event.type === "tool" && observations) return line("observation") + event.output;
    return "";
  };
}

function toolCall({ id, tool, input }: ClientCall) {
  return { id: `call_${id}`, type: "function", function: { name: tool, arguments: JSON.stringify(input) } };
}

type End = Extract<ServedEvent, { type: "end" }>;

function finishOf({ trajectory: { ending } }: End): string {
  if (ending.reason === "suspended") return "tool_calls";
  return ending.reason === "limit" ? "length" : "stop";
}

function chatUsage(end: End): Json {
  const { prompt, completion, cached, reasoning } = servedUsage(end);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
