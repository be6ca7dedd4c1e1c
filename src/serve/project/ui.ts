/**
 * Chains as the AI SDK's UI message stream: roles are reasoning parts, each announced by a `data-segment` with its tag;
 * executed tools are dynamic tool parts of the provider's own; the answer is text; tokens come as `data-usage`.
 */
import type { Json } from "../../core/json-value.ts";
import { type ServedEvent, untold } from "../served-events.ts";
import { replyEnd, servedUsage } from "./reply-parts.ts";

export interface UiProjectionOptions {
  messageId: string;
  model: string;
  trajectoryId: string;
}

export interface UiProjection {
  begin(): Json[];
  add(event: ServedEvent): Json[];
  fail(message: string): Json[];
}

export function uiProjection(options: UiProjectionOptions): UiProjection {
  const { messageId, model, trajectoryId } = options;
  let parts = 0;
  let reasoning: string | undefined;
  let answer: string | undefined;
  const answerId = `${messageId}-answer`;
  function answerDelta(delta: string): Json[] {
    if (delta === "") return [];
    const start = answer === undefined ? [{ type: "text-start", id: answerId }] : [];
    answer = (answer ?? "") + delta;
    return [...start, { type: "text-delta", id: answerId, delta }];
  }
  function closeAnswer(): Json[] {
    const open = answer !== undefined;
    answer = undefined;
    return open ? [{ type: "text-end", id: answerId }] : [];
  }
  return {
    begin: () => [
      { type: "start", messageId, messageMetadata: { model, trajectory: trajectoryId } },
      { type: "start-step" },
    ],
    add(event) {
      switch (event.type) {
        case "role-start": {
          const id = `${messageId}-${parts++}`;
          const segment = { type: "data-segment", id: `segment-${id}`, data: { tag: event.role } };
          if (event.tool) return [segment];
          reasoning = id;
          return [segment, { type: "reasoning-start", id }];
        }
        case "role-delta":
          return reasoning === undefined ? [] : [{ type: "reasoning-delta", id: reasoning, delta: event.text }];
        case "role-end": {
          const id = reasoning;
          reasoning = undefined;
          return id === undefined ? [] : [{ type: "reasoning-end", id }];
        }
        case "tool": {
          const call = { toolCallId: `${messageId}-${event.callId}`, providerExecuted: true, dynamic: true };
          const input = { type: "tool-input-available", toolName: event.tool, input: event.input ?? {}, ...call };
          const output = event.ok
            ? { type: "tool-output-available", output: event.output, ...call }
            : { type: "tool-output-error", errorText: event.output, ...call };
          return [input, output];
        }
        case "answer-delta":
          return answerDelta(event.text);
        case "answer":
          return [...answerDelta(untold(event.text, answer ?? "")), ...closeAnswer()];
        case "end": {
          const { trajectory, usage } = event;
          const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = servedUsage(event);
          const tokens = { prompt: promptTokens, completion: completionTokens, cached: cachedTokens };
          const data = { ...tokens, reasoning: reasoningTokens, toolCalls: usage.toolCalls, ending: trajectory.ending };
          const finishReason = replyEnd(event).finish === "length" ? "length" : "stop";
          return [
            ...closeAnswer(),
            { type: "data-usage", data },
            { type: "finish-step" },
            { type: "finish", finishReason },
          ];
        }
        default:
          return [];
      }
    },
    fail: (message) => [{ type: "error", errorText: message }],
  };
}
