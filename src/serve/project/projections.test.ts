import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventsOf, eventText } from "../../base/http/server-events.ts";
import { anthropicMessages } from "../../base/wire/anthropic-messages.ts";
import { openaiChat } from "../../base/wire/openai-chat.ts";
import { openaiResponses } from "../../base/wire/openai-responses.ts";
import type { Json } from "../../core/json-value.ts";
import { type SeededRandom, seededRandom } from "../../core/random.ts";
import type { Segment, Trajectory } from "../../core/trajectory.ts";
import { emptyUsage } from "../../core/usage.ts";
import { eventsOfTrajectory } from "../served-events.ts";
import { chatChunks, chatCompletion } from "./chat.ts";
import { messagesProjection } from "./messages.ts";
import { responsesProjection } from "./responses.ts";

const profile = { answer: "answer" };
const hostile = [
  "data: [DONE]\n\n",
  "\r\n\r\nevent: error\r\n",
  "<script>",
  "\u001b[31m",
  '"}]}',
  "\u2028",
  "\0",
  "ünï",
  "</answer>",
];
const facts = { id: "resp_1", model: "m", created: 1 };
const isTool = (role: string) => role === "web_search";

function randomTrajectory(random: SeededRandom): Trajectory {
  const text = () => Array.from({ length: random.below(4) }, () => random.pick(hostile)).join(" x ");
  const segments: Segment[] = [];
  for (let index = random.below(8); index > 0; index--) {
    if (random.next() < 0.6) segments.push({ tag: random.pick(["think", "plan", "text"]), text: text(), by: "model" });
    else {
      segments.push({ tag: "web_search", text: text(), by: "model" });
      const call = { tool: "web_search", input: { query: text() }, ok: random.next() < 0.8, ms: 1 };
      segments.push({ tag: "observation", text: text(), by: "tool", call });
    }
  }
  const answer = random.next() < 0.8 ? `a ${text()}` : null;
  if (answer) segments.push({ tag: "answer", text: answer, by: "model" });
  const ending = { reason: answer ? ("answered" as const) : ("limit" as const) };
  const usage = { ...emptyUsage(), promptTokens: 9, completionTokens: 9, billedTokens: 18, computedTokens: 12 };
  const common = { version: 2 as const, id: "t", taskId: "t", profile: "p", model: "m", prompt: [], violations: [] };
  return { ...common, segments, answer, ending, usage };
}

/** Through the wire and back: what a client parses is what was written, whatever the text. */
const overTheWire = (events: readonly Json[]): Json[] =>
  eventsOf(events.map((event) => eventText(JSON.stringify(event), event["type"] as string | undefined)).join("")).map(
    (data) => JSON.parse(data) as Json,
  );

describe("projections of random chains with hostile text", () => {
  const rounds = Number(process.env["COA_FUZZ"] ?? 1500);
  it("are read back by our own clients as the same reasoning and answer, streamed and whole", () => {
    const random = seededRandom("projections");
    for (let round = 0; round < rounds; round++) {
      const trajectory = randomTrajectory(random);
      const events = eventsOfTrajectory(trajectory, profile);
      const shown = random.next() < 0.5;

      const chunks = overTheWire(events.flatMap(chatChunks({ ...facts, includeUsage: true })));
      const chat = openaiChat.replyReader();
      for (const chunk of [...chunks, "[DONE]"]) chat.add(chunk);
      const wholeChat = openaiChat.readReply(chatCompletion(events, facts));
      assert.equal(chat.reply.text, trajectory.answer ?? "");
      assert.equal(chat.reply.reasoning ?? "", wholeChat.reasoning ?? "");

      const responses = responsesProjection({ ...facts, echo: {}, hostedTools: shown, isTool });
      const wire = overTheWire([...responses.begin(), ...events.flatMap((event) => responses.add(event))]);
      assert.deepEqual(
        wire.map((event) => event["sequence_number"]),
        [...wire.keys()],
      );
      const reader = openaiResponses.replyReader();
      for (const event of wire) reader.add(event);
      assert.equal(reader.reply.text, trajectory.answer ?? "");
      assert.deepEqual(
        reader.reply,
        openaiResponses.readReply(JSON.parse(JSON.stringify(responses.response())) as Json),
      );
      const calls = trajectory.segments.filter((segment) => segment.call);
      assert.equal(reader.reply.hosted?.length ?? 0, shown ? calls.length : 0);
      assert.deepEqual(reader.reply.toolCalls, []);

      const messages = messagesProjection({ ...facts, showTools: shown, isTool, signature: "s" });
      const blocks = overTheWire([...messages.begin(), ...events.flatMap((event) => messages.add(event))]);
      const message = anthropicMessages.replyReader();
      for (const block of blocks) message.add(block);
      const whole = anthropicMessages.readReply(JSON.parse(JSON.stringify(messages.message())) as Json);
      assert.equal(message.reply.text, trajectory.answer ?? "");
      assert.equal(message.reply.reasoning ?? "", whole.reasoning ?? "");
      assert.deepEqual(message.reply.toolCalls, []);
    }
  });

  it("carry ten megabytes of a hostile observation without forging an event", () => {
    const output = hostile.join("").repeat(200_000);
    const events = [
      { type: "tool" as const, callId: "1", tool: "web_search", input: {}, output, ok: true, ms: 1 },
      ...eventsOfTrajectory(randomTrajectory(seededRandom(1)), profile),
    ];
    const responses = responsesProjection({ ...facts, echo: {}, hostedTools: true, isTool });
    const sent = [...responses.begin(), ...events.flatMap((event) => responses.add(event))];
    assert.equal(overTheWire(sent).length, sent.length);
  });
});
