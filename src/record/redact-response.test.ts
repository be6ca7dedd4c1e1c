import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openaiChat } from "../base/wire/openai-chat.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { readAnswer } from "./read-answer.ts";
import { redactResponse } from "./redact-response.ts";

const pieces = ["the key is sk-abcdef", "ghijklmnop", "qrst1234."];
const args = ['{"pass', 'word": "hun', 'ter2-again"}'];
const framed = (events: readonly { type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: pieces.join("") }] };
const call = { type: "function_call", call_id: "c1", name: "login", arguments: args.join("") };
const body = framed([
  { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
  ...pieces.map((delta) => ({ type: "response.output_text.delta", item_id: "m", output_index: 0, delta })),
  ...args.map((delta) => ({ type: "response.function_call_arguments.delta", item_id: "f", output_index: 1, delta })),
  { type: "response.completed", response: { id: "resp_1", status: "completed", output: [message, call] } },
] as { type: string }[]);

describe("redactResponse", () => {
  it("keeps no pieces of a secret where the last event of a stream repeats the whole", () => {
    const clean = redactResponse(openaiResponses, body, "text/event-stream", []);
    assert.doesNotMatch(clean, /ghijklmnop|qrst1234|ter2-again|hun/);
    const reply = readAnswer(openaiResponses, clean, "text/event-stream");
    assert.equal(reply.text, "the key is [redacted].");
    assert.equal(reply.toolCalls[0]?.arguments, '{"password": "[redacted]"}');
    assert.ok(reply.finished);
  });

  it("keeps no pieces of a secret of a stream that was cut", () => {
    const cut = body.slice(0, body.indexOf("event: response.completed"));
    assert.doesNotMatch(redactResponse(openaiResponses, cut, "text/event-stream", []), /ghijklmnop|ter2-again/);
  });

  it("keeps neither ids nor log-probabilities of a text that was redacted", () => {
    const words = ["sk-abcdef", "ghijklmnop", "qrst1234"];
    const content = words.map((token) => ({ token, logprob: -1, bytes: [...Buffer.from(token)], top_logprobs: [] }));
    const choice = { index: 0, logprobs: { content }, token_ids: [71, 72, 73], finish_reason: "stop" };
    const usage = { prompt_tokens: 3, completion_tokens: 3 };
    const whole = { choices: [{ ...choice, message: { role: "assistant", content: words.join("") } }], usage };
    const clean = redactResponse(openaiChat, JSON.stringify(whole), "application/json", []);
    const message = { role: "assistant", content: "[redacted]" };
    assert.deepEqual(JSON.parse(clean), { choices: [{ index: 0, finish_reason: "stop", message }], usage });
    const event = { choices: [{ ...choice, delta: { content: words.join("") } }] };
    const stream = `data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
    assert.doesNotMatch(redactResponse(openaiChat, stream, "text/event-stream", []), /ghijkl|103|72/);
  });

  it("leaves a stream without secrets as it came", () => {
    const chat = ["a", "b 0123456789", "c"]
      .map(
        (content) => `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta: { content } }] })}\n\n`,
      )
      .join("");
    assert.equal(redactResponse(openaiChat, chat, "text/event-stream", []), chat);
  });
});
