/** Event streams that no server writes, read as replies of every API: an error of ours at most. */
import { it } from "node:test";
import { serverEvents } from "../../src/base/http/server-events.ts";
import { wireApis } from "../../src/base/wire/apis.ts";
import { parseJson } from "../../src/core/json-value.ts";
import { readAnswer, writeStream } from "../../src/record/read-answer.ts";
import { redactResponse } from "../../src/record/redact-response.ts";
import { damaged, fuzz, mutated } from "./fuzz.ts";

const reply = {
  text: "Lyon is a city.",
  reasoning: "look it up",
  toolCalls: [{ id: "call_1", name: "look", arguments: '{"city":"Lyon"}' }],
  finish: "tool_calls" as const,
  finished: true,
  usage: { promptTokens: 5, completionTokens: 7 },
  responseId: "r",
  model: "m",
};

it("fuzzed event streams are read or refused with an error of ours", async (t) => {
  const streams = wireApis.map((api) => ({ api, text: writeStream(api, reply) }));
  const done = await fuzz("streams", async (random) => {
    const { api, text } = streams[random.below(streams.length)]!;
    const changed = text
      .split("\n")
      .map((line) => {
        const at = line.indexOf("{");
        const value = at === -1 ? undefined : parseJson(line.slice(at));
        return value === undefined || random.below(3) > 0
          ? line
          : line.slice(0, at) + JSON.stringify(mutated(value, random));
      })
      .join("\n");
    const bytes = random.below(2) === 0 ? damaged(Buffer.from(changed), random) : Buffer.from(changed);
    async function* pieces() {
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random.below(64);
        yield bytes.subarray(at, at + size);
        at += size;
      }
    }
    for await (const _ of serverEvents(pieces()));
    const said = bytes.toString("utf8");
    for (const type of ["text/event-stream", "application/json"]) {
      readAnswer(api, said, type);
      redactResponse(api, said, type, []);
    }
  });
  t.diagnostic(JSON.stringify(done));
});
