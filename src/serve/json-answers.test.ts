import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { seededRandom } from "../base/work/random.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const schema = {
  type: "object",
  properties: { city: { type: "string" }, sure: { type: "boolean" }, note: { type: ["string", "null"] } },
  required: ["city", "sure"],
  additionalProperties: false,
};
const good = '{"city": "Lyon", "sure": true}';
const looked = "<think>look</think><wiki_search>Ada</wiki_search>";
const answered = (text: string) => `<think>so {"not": the answer}</think><answer>${text}</answer>`;
/** Looks Ada up, then answers. */
const thenAnswer = (answer: (call: number) => string) =>
  scriptedModel(({ text }, call) => (text.includes("Ada lives") ? answered(answer(call)) : looked));
const messages = [{ role: "user", content: question }];
const chat = { messages, response_format: { type: "json_schema", json_schema: { name: "place", schema } } };
const responses = { input: question, text: { format: { type: "json_schema", name: "place", schema } } };
const anthropic = { max_tokens: 500, messages, output_config: { format: { type: "json_schema", schema } } };

describe("answers in a schema", () => {
  it("are told to the model, checked and given as bare JSON through every API", async () => {
    const model = thenAnswer(() => `\n\`\`\`json\n${good}\n\`\`\`\n`);
    await withServer({ model }, async (ask) => {
      const one: Loose = await (await ask("/v1/chat/completions", chat)).json();
      assert.equal(one.choices[0].message.content, good);
      const two: Loose = await (await ask("/v1/responses", responses)).json();
      assert.equal(two.output.at(-1).content[0].text, good);
      const three: Loose = await (await ask("/v1/messages", anthropic)).json();
      assert.equal(three.content.at(-1).text, good);
      const any: Loose = await (await ask("/v1/chat/completions", { messages, response_format: { type: "json_object" } })).json(); // biome-ignore format: one call
      assert.equal(any.choices[0].message.content, good);
      assert.match(model.requests[0]!.prompt[0]!.content, /only JSON that follows this schema: .*"city"/);
    });
  });

  it("are refused once with the reason, and fail in the shape of the API when they stay wrong", async () => {
    const model = thenAnswer((call) => (call === 1 ? '{"city": 3}' : good));
    await withServer({ model }, async (ask) => {
      const fixed: Loose = await (await ask("/v1/chat/completions", chat)).json();
      assert.equal(fixed.choices[0].message.content, good);
      assert.match(model.requests[2]!.text, /not in the form that was asked for: sure is missing/);
    });
    const stubborn = thenAnswer(() => "Lyon, of course");
    await withServer({ model: stubborn }, async (ask) => {
      const reply = await ask("/v1/chat/completions", chat);
      assert.equal(reply.status, 502);
      assert.equal(((await reply.json()) as Loose).error.code, "invalid_answer");
      assert.equal(stubborn.requests.length, 3, "one try to repair it");
      const streamed = await (await ask("/v1/chat/completions", { ...chat, stream: true })).text();
      assert.match(streamed, /"code":"invalid_answer"/);
      const failed = await (await ask("/v1/responses", { ...responses, stream: true })).text();
      assert.match(failed, /event: response\.failed/);
      const error: Loose = await (await ask("/v1/messages", anthropic)).json();
      assert.equal(error.type, "error");
    });
  });

  it("can't be written otherwise by an engine that takes masks, while roles stay free", async () => {
    const random = seededRandom("json answers");
    const letters = '{}[]":,abc<0123456789.-etrufalsn \n'.split("");
    for (let round = 0; round < 20; round++) {
      const junk = Array.from({ length: 200 }, () => random.pick(letters)).join("");
      const script = `<think>any {"text" < 3]</think><answer>${junk}`;
      const model = scriptedModel((_request, call) => (call === 0 ? looked : script), {
        tokenizer: byteTokenizer(),
        obeyMasks: true,
      });
      const strict = { ...schema, properties: { ...schema.properties, city: { enum: ["Lyon", "Rome <3"] } } };
      const format = { type: "json_schema", json_schema: { name: "x", schema: strict } };
      await withServer({ model, toolsOf: () => [tableTool({}, "wiki_search")] }, async (ask) => {
        const reply: Loose = await (await ask("/v1/chat/completions", { messages, response_format: format })).json();
        assert.ok(reply.choices, JSON.stringify(reply));
        const [choice] = reply.choices;
        assert.match(choice.message.reasoning, /any \{"text" < 3\]/);
        // What was cut at the limit is not an answer; everything else follows the schema.
        if (choice.finish_reason !== "length") assert.ok(["Lyon", "Rome <3"].includes(JSON.parse(choice.message.content).city)); // biome-ignore format: one check
      });
    }
  });

  it("refuses schemas outside the part that is followed, and says which rule", async () => {
    await withServer({}, async (ask) => {
      const refusal = async (inner: object): Promise<string> => {
        const format = { type: "json_schema", json_schema: { name: "x", schema: inner } };
        const reply = await ask("/v1/chat/completions", { messages, response_format: format });
        const { error }: Loose = await reply.json();
        assert.deepEqual([reply.status, error?.code], [400, "unsupported_format"]);
        return error.message;
      };
      const object = (properties: object) => ({ type: "object", properties });
      assert.match(
        await refusal(object({ a: { type: "string", pattern: "(a" } })),
        /schema\.a: "\(a" is not a pattern/,
      );
      assert.match(await refusal(object({ a: { type: "string", format: "colour" } })), /format "colour" is not known/);
      assert.match(await refusal({ type: "object", additionalProperties: true }), /additionalProperties/);
      assert.match(await refusal({ $ref: "#/$defs/none" }), /leads nowhere/);
      assert.match(await refusal(object({ a: {} })), /type is missing/);
      assert.match(await refusal({ ...object({}), required: ["b"] }), /required b/);
      assert.match(await refusal(object({ a: { type: "array", items: { allOf: [] } } })), /schema\.a\.items/);
      const grammar = await ask("/v1/chat/completions", { messages, response_format: { type: "grammar" } });
      assert.equal(grammar.status, 400);
    });
  });
});
