import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { streamType } from "../../test/fixtures/wire-requests.ts";
import { apiOf } from "../base/wire/apis.ts";
import { bedrockConverse, readEventStream } from "../base/wire/bedrock-converse.ts";
import { gemini } from "../base/wire/gemini.ts";
import { writeEvents } from "../base/wire/reply-writer.ts";
import { frameEvent, type WireReply } from "../base/wire/wire-api.ts";
import { isOver, readAnswer } from "./read-answer.ts";

const reply: WireReply = {
  text: "näher 😀 hin",
  reasoning: "think",
  toolCalls: [{ id: "c1", name: "look", arguments: '{"q":"x"}' }],
  finish: "tool_calls",
  finished: true,
  usage: { promptTokens: 7, completionTokens: 4 },
};

/** One frame as Amazon writes it: lengths, check sums (not looked at), headers that are strings, the payload. */
function frame(type: string, payload: object): Buffer {
  const header = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, value.length >> 8, value.length & 255]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([header(":message-type", "event"), header(":event-type", type)]);
  const body = Buffer.from(JSON.stringify(payload));
  const start = Buffer.alloc(12);
  start.writeUInt32BE(16 + headers.length + body.length, 0);
  start.writeUInt32BE(headers.length, 4);
  return Buffer.concat([start, headers, body, Buffer.alloc(4)]);
}

describe("streams that are not server-sent events", () => {
  it("reads Amazon's binary frames, also when the last is cut", () => {
    const events = writeEvents(bedrockConverse, reply, ["näher ", "😀 hin"]) as { type: string }[];
    const bytes = Buffer.concat(events.map(({ type, ...payload }) => frame(type, payload)));
    assert.deepEqual(readEventStream(bytes), events);
    assert.deepEqual(readEventStream(bytes.subarray(0, bytes.length - 3)), events.slice(0, -1));
    assert.deepEqual(readEventStream(Buffer.from("no frames at all, but long enough")), []);
    const read = bedrockConverse.readEvents(readEventStream(bytes));
    assert.equal(read.text, reply.text);
    assert.equal(read.reasoning, "think");
    assert.deepEqual(read.toolCalls, reply.toolCalls);
    assert.equal(read.usage?.completionTokens, 4);
  });

  it("reads Gemini's stream as one array, which it is without alt=sse", () => {
    const array = JSON.stringify(writeEvents(gemini, reply, ["näher ", "😀 hin"]));
    const { text, reasoning, toolCalls, finish, usage } = readAnswer(gemini, array, "application/json");
    assert.deepEqual(
      [text, reasoning, toolCalls.map(({ name }) => name), finish, usage?.promptTokens],
      [reply.text, "think", ["look"], "tool_calls", 7],
    );
  });

  it("is not over where the sign of the end stands in the arguments of a call", () => {
    for (const [path, input] of [
      ["/api/chat", '{"done":true}'],
      ["/v1beta/models/m:generateContent", '{"finishReason":"late"}'],
    ] as const) {
      const api = apiOf(path)!;
      const call = { id: "", name: "set", arguments: input };
      const events = writeEvents(api, { text: "", toolCalls: [call], finished: true }).map((one) =>
        frameEvent(api, one),
      );
      const type = streamType(api);
      assert.equal(isOver(api, events.slice(0, -1).join(""), type), false, api.name);
      assert.equal(isOver(api, events.join(""), type), true, api.name);
    }
  });
});
