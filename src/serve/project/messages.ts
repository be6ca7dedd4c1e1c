/**
 * Chains as Anthropic messages: each run of roles is a thinking block, the answer is a text block. Executed tools are
 * `mcp_tool_use` and `mcp_tool_result` blocks where they are to be shown (clients reject tools that they never declared in
 * any other shape), and lines of thinking otherwise. Calls of the client's own tools are `tool_use` blocks, with the state of
 * the chain as the signature of the thinking before them. The whole message is the state after the last event.
 */
import type { Json } from "../../core/json-value.ts";
import type { ClientCall } from "../client-tools.ts";
import { type ServedEvent, untold } from "../served-events.ts";
import { servedUsage } from "./served-usage.ts";

export interface MessagesProjectionOptions {
  id: string;
  model: string;
  /** Show executed tools as blocks of their own. */
  showTools?: boolean;
  isTool: (role: string) => boolean;
  /** Clients send thinking back with it; without thinking asked for, blocks still need one. */
  signature: string;
}

/** Projects a chain event by event. */
export interface MessagesProjection {
  begin(): Json[];
  add(event: ServedEvent): Json[];
  message(): Json;
}

/** A projection in its first state. */
export function messagesProjection(options: MessagesProjectionOptions): MessagesProjection {
  const content: Json[] = [];
  let thinking: { index: number; text: string } | undefined;
  let answer: { index: number; text: string } | undefined;
  let facts: Json = { stop_reason: null, stop_sequence: null, usage: usageOf() };
  const message = (): Json => ({
    id: options.id,
    type: "message",
    role: "assistant",
    model: options.model,
    content: [...content],
    ...facts,
  });

  function block(whole: Json, empty: Json, deltas: Json[]): Json[] {
    const index = content.push(whole) - 1;
    return [
      { type: "content_block_start", index, content_block: empty },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  }
  function think(text: string): Json[] {
    const events: Json[] = [];
    if (!thinking) {
      const index = content.push({ type: "thinking", thinking: "", signature: "" }) - 1;
      thinking = { index, text: "" };
      events.push({
        type: "content_block_start",
        index,
        content_block: { type: "thinking", thinking: "", signature: "" },
      });
    }
    thinking.text += text;
    const delta = { type: "thinking_delta", thinking: text };
    return [...events, { type: "content_block_delta", index: thinking.index, delta }];
  }
  function closeThinking(signature = options.signature): Json[] {
    if (!thinking) return [];
    const { index, text } = thinking;
    thinking = undefined;
    content[index] = { type: "thinking", thinking: text, signature };
    const delta = { type: "signature_delta", signature };
    return [
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  }
  function hostedCall(call: Extract<ServedEvent, { type: "tool" }>): Json[] {
    const events = closeThinking();
    const id = `mcptoolu_${options.id.slice(4)}_${content.length}`;
    const use = { type: "mcp_tool_use", id, name: call.tool, server_name: "coa" };
    const input = (call.input ?? {}) as Json;
    const result = {
      type: "mcp_tool_result",
      tool_use_id: id,
      is_error: !call.ok,
      content: [{ type: "text", text: call.output }],
    };
    return [
      ...events,
      ...block({ ...use, input }, { ...use, input: {} }, [
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ]),
      ...block(result, result, []),
    ];
  }
  function answerDelta(text: string): Json[] {
    if (text === "") return [];
    const events: Json[] = [];
    if (!answer) {
      events.push(...closeThinking());
      answer = { index: content.push({ type: "text", text: "" }) - 1, text: "" };
      events.push({ type: "content_block_start", index: answer.index, content_block: { type: "text", text: "" } });
    }
    answer.text += text;
    content[answer.index] = { type: "text", text: answer.text };
    events.push({ type: "content_block_delta", index: answer.index, delta: { type: "text_delta", text } });
    return events;
  }
  function closeAnswer(): Json[] {
    const open = answer;
    answer = undefined;
    return open ? [{ type: "content_block_stop", index: open.index }] : [];
  }
  function clientCalls(calls: readonly ClientCall[], state: string | undefined): Json[] {
    const events = closeThinking(state);
    // Without thinking before the call the state gets a block of its own, which clients send back unread.
    if (events.length === 0 && state !== undefined) {
      const hidden = { type: "redacted_thinking", data: state };
      events.push(...block(hidden, hidden, []));
    }
    for (const { id, tool, input } of calls) {
      const use = { type: "tool_use", id: `toolu_${id}`, name: tool };
      const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
      events.push(...block({ ...use, input: input as Json }, { ...use, input: {} }, [delta]));
    }
    return events;
  }
  function finish(end: Extract<ServedEvent, { type: "end" }>): Json[] {
    const events = [...closeThinking(), ...closeAnswer()];
    const reason = end.stop === undefined ? (stops[end.trajectory.ending.reason] ?? "end_turn") : "stop_sequence";
    const delta = { stop_reason: reason, stop_sequence: end.stop ?? null };
    facts = { ...delta, usage: usageOf(end) };
    return [...events, { type: "message_delta", delta, usage: facts["usage"] }, { type: "message_stop" }];
  }

  return {
    message,
    begin: () => [{ type: "message_start", message: message() }],
    add(served) {
      switch (served.type) {
        case "role-start":
          if (options.showTools && options.isTool(served.role)) return [];
          return think(`${thinking ? "\n" : ""}${served.role}: `);
        case "role-delta":
          return thinking ? think(served.text) : [];
        case "role-end":
          return [];
        case "tool":
          return options.showTools ? hostedCall(served) : [];
        case "answer-delta":
          return answerDelta(served.text);
        case "answer":
          return [...answerDelta(untold(served.text, answer?.text ?? "")), ...closeAnswer()];
        case "client-calls":
          return clientCalls(served.calls, served.state);
        case "end":
          return finish(served);
      }
    },
  };
}

const stops: Record<string, string> = { limit: "max_tokens", suspended: "tool_use" };

function usageOf(end?: Extract<ServedEvent, { type: "end" }>): Json {
  const { prompt, completion, cached } = end ? servedUsage(end) : { prompt: 0, completion: 0, cached: 0 };
  return {
    input_tokens: prompt - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: completion,
  };
}
