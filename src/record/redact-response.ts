/**
 * Redacts an answer. In a stream, a secret may come in pieces that look harmless one by one, so the words are also
 * checked put together; if a secret shows up only then, the record keeps the redacted whole instead of the pieces.
 */

import { type Redact, redactSecrets } from "../base/redact/redact.ts";
import { readReply, serverEvents } from "../base/wire/wire-reply.ts";
import { asObject } from "./recorded-call.ts";

/** The answer as it may be written. */
export function redactResponse(body: string, contentType: string, literals: readonly string[], hook?: Redact): string {
  const clean = asText(redactSecrets(body, literals, hook), body);
  if (!contentType.includes("event-stream")) return clean;
  const reply = readReply(clean, contentType);
  const whole = { text: reply.text, reasoning: reply.reasoning ?? "", toolCalls: reply.toolCalls };
  const safe = redactSecrets(whole, literals, hook) as typeof whole;
  if (JSON.stringify(safe) === JSON.stringify(whole)) return clean;
  const last = serverEvents(clean).findLast((event) => /^response\./.test(String(asObject(event)?.["type"])));
  if (last) return `data: ${JSON.stringify(last)}\n\n`; // its own copy of the whole was redacted above
  const calls = safe.toolCalls.map(({ id, name, arguments: text }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  const delta = {
    role: "assistant",
    content: safe.text,
    ...(safe.reasoning && { reasoning_content: safe.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const event = {
    id: reply.responseId,
    model: reply.model,
    choices: [{ index: 0, delta, finish_reason: reply.finished ? (calls.length > 0 ? "tool_calls" : "stop") : null }],
    usage: { prompt_tokens: reply.promptTokens, completion_tokens: reply.completionTokens },
  };
  return `data: ${JSON.stringify(event)}\n\n${reply.finished ? "data: [DONE]\n\n" : ""}`;
}

/** A hook may give back anything; what is not text is written as nothing. */
function asText(value: unknown, original: string): string {
  return typeof value === "string" ? value : original === "" ? "" : "[redacted]";
}
