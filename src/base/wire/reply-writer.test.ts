import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asObject, type Json } from "../../core/json-value.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { wireApis } from "./apis.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiCompletions } from "./openai-completions.ts";
import { openaiResponses } from "./openai-responses.ts";
import { writeEvents, writeReply } from "./reply-writer.ts";
import type { WireApi, WireReply } from "./wire-api.ts";

const reply: WireReply = {
  text: "näher 😀 hin",
  reasoning: "I look it up.",
  toolCalls: [
    { id: "c1", name: "look", arguments: '{"q":"x"}' },
    { id: "c2", name: "look", arguments: '{"q":"y"}' },
  ],
  finish: "tool_calls",
  finished: true,
  usage: { promptTokens: 9, completionTokens: 5, cachedTokens: 4 },
  responseId: "resp_7",
  model: "m",
};

const streamed = (api: WireApi, given: WireReply, pieces?: readonly string[]) =>
  api.readEvents(JSON.parse(JSON.stringify(writeEvents(api, given, pieces))));

const whole = (api: WireApi, given: WireReply) => api.readReply(JSON.parse(JSON.stringify(writeReply(api, given))));

/** What every API can tell; the others have no ids, no reasoning or no calls. */
const told = ({ text, finish, finished, usage }: WireReply) => [text, finish, finished, usage?.promptTokens, usage?.completionTokens]; // biome-ignore format: one list

describe("a reply that an API writes", () => {
  for (const api of wireApis) {
    it(`is read back as it was, whole and streamed alike: ${api.name}`, () => {
      const said = {
        ...reply,
        ...(/completions$|generate$/.test(api.name) && { toolCalls: [], finish: "stop" as const }),
      };
      const once = whole(api, said);
      assert.deepEqual(told(once), told(said));
      assert.deepEqual({ ...streamed(api, said, ["näher ", "😀 ", "hin"]) }, { ...once });
      for (const finish of ["stop", "length", "refusal"] as const) {
        const short = { ...reply, toolCalls: [], finish };
        const expected = api.name.startsWith("ollama") && finish === "refusal" ? "stop" : finish;
        assert.equal(whole(api, short).finish, expected);
        assert.equal(streamed(api, short).finish, expected);
      }
      assert.equal(streamed(api, { ...reply, finished: false }).finished, false);
    });
  }

  it("keeps reasoning, calls and tools that the server ran", () => {
    for (const api of [openaiResponses, anthropicMessages]) {
      const call = { id: "s1", name: "search", arguments: '{"q":"z"}', result: "found" };
      for (const read of [whole, streamed]) {
        const { reasoning, toolCalls, hosted = [] } = read(api, { ...reply, hosted: [call] });
        assert.deepEqual([reasoning, toolCalls], [reply.reasoning, reply.toolCalls], api.name);
        assert.deepEqual([hosted[0]?.name, hosted[0]?.arguments, hosted[0]?.result], ["search", '{"q":"z"}', "found"]);
      }
    }
    assert.deepEqual(whole(openaiChat, reply).toolCalls, reply.toolCalls);
    assert.equal(whole(openaiChat, reply).reasoning, reply.reasoning);
  });

  it("gives the state of a reply to the client: with its reasoning, or in a place of its own", () => {
    const call = { type: "call" as const, call: reply.toolCalls[0]! };
    const state = { type: "state" as const, state: "sealed" };
    for (const thoughts of [[], [{ type: "reasoning" as const, text: "hm" }]]) {
      const [message, response] = [anthropicMessages, openaiResponses].map((api) => {
        const writer = api.replyWriter({ sealed: "before" });
        for (const part of [...thoughts, state, call]) writer.add(part);
        return writer.whole();
      });
      const [block] = message!["content"] as Json[];
      assert.equal(thoughts.length > 0 ? block?.["signature"] : block?.["data"], "sealed");
      assert.equal((response!["output"] as Json[])[0]?.["encrypted_content"], "sealed");
    }
  });

  it("shows tokens as they were sampled, those of the prompt once", () => {
    const writer = openaiCompletions.replyWriter({ streamUsage: false });
    const tokens = (ids: number[]) => ({ ids, logprobs: { texts: ids.map(String), values: ids.map((id) => -id) } });
    const events = [
      ...writer.add({ type: "text", text: "a", tokens: { ...tokens([1, 2]), promptIds: [9] } }),
      ...writer.add({ type: "text", text: "", tokens: tokens([3]) }),
      ...writer.end({ finish: "stop", usage: { promptTokens: 1, completionTokens: 3 } }),
    ];
    assert.equal(events.pop(), "[DONE]");
    const choices = events.map((event) => (event as { choices: Json[] }).choices[0]!);
    assert.deepEqual(
      choices.map((choice) => choice["token_ids"]),
      [[1, 2], [3], []],
    );
    assert.deepEqual(
      choices.map((choice) => choice["prompt_token_ids"]),
      [[9], undefined, undefined],
    );
    const [choice] = writer.whole()["choices"] as Json[];
    assert.deepEqual([choice?.["token_ids"], choice?.["prompt_token_ids"]], [[1, 2, 3], [9]]);
    assert.deepEqual(asObject(choice?.["logprobs"])?.["token_logprobs"], [-1, -2, -3]);
  });
});
