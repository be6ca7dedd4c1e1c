import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { byteAutomaton } from "./grammar/byte-automaton.ts";
import { schemaText } from "./grammar/schema-text.ts";
import { plainSchema, readJsonAnswer } from "./json-schema.ts";

const address = { type: "object", properties: { city: { type: "string", minLength: 2 } }, required: ["city"] };
const schema = {
  $defs: { address },
  type: "object",
  properties: {
    note: { type: ["string", "null"] },
    home: { $ref: "#/$defs/address" },
    kind: { enum: ["a", "b<"] },
    ages: { type: "array", items: { type: "integer", minimum: 0 }, minItems: 1, maxItems: 2 },
    size: { anyOf: [{ type: "number", multipleOf: 0.5 }, { const: "none" }] },
  },
  required: ["home"],
};
const home = { city: "Lyon" };

describe("an answer in a schema", () => {
  const plain = plainSchema(schema);
  const start = byteAutomaton({ start: "s", rules: new Map([["s", schemaText(plain)]]) }, () => undefined);
  const grammarTakes = (text: string): boolean => {
    let state: typeof start | null = start;
    for (const byte of new TextEncoder().encode(text)) state &&= state.next(byte);
    return state?.accepting === true;
  };

  it("is taken by check and grammar alike", () => {
    const right = [
      { home },
      { note: null, home },
      { note: "x", home, kind: "a", ages: [1, 2], size: 1.5 },
      { home, size: "none" },
      { home: { city: 'quote " and \\ and ü' }, ages: [0] },
    ];
    for (const value of right) {
      const text = JSON.stringify(value);
      assert.deepEqual(readJsonAnswer(plain, text), { json: text });
      assert.ok(grammarTakes(text), text);
    }
    assert.ok(grammarTakes('{"home":{"city":"Lyon"}, "kind":"b\\u003c"}'));
    assert.deepEqual(readJsonAnswer(plain, '```json\n{"home": {"city": "```"}}\n```'), {
      json: '{"home": {"city": "```"}}',
    });
  });

  it("is refused with what is wrong", () => {
    const wrong: [unknown, RegExp, boolean?][] = [
      [{}, /home is missing/],
      [[], /must be an object/],
      [{ home, more: 1 }, /more was not asked for/],
      [{ home: { city: 1 } }, /city must be a text/],
      [{ home, kind: "c" }, /kind must be "a" or "b<"/],
      [{ home, ages: [] }, /at least 1 items/],
      [{ home, ages: [1.5] }, /ages\[0\] must be a integer/],
      [{ home, size: true }, /size/],
      // Limits of sizes are checked, and are not in the grammar.
      [{ home: { city: "L" } }, /at least 2 characters/, true],
      [{ home, ages: [1, 2, 3] }, /at most 2 items/, true],
      [{ home, size: 0.3 }, /size must be/, true],
      [{ home, ages: [-1] }, /out of its range/, true],
    ];
    for (const [value, problem, inGrammar = false] of wrong) {
      const text = JSON.stringify(value);
      const read = readJsonAnswer(plain, text);
      assert.match("problem" in read ? read.problem : "nothing", problem);
      assert.equal(grammarTakes(text), inGrammar, text);
    }
    assert.match(JSON.stringify(readJsonAnswer(plain, "Lyon")), /it is not JSON/);
  });

  it("takes schemas of many optional properties in little time", () => {
    const properties = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${index}`, { type: "string" }]));
    const wide = plainSchema({ type: "object", properties });
    const first = byteAutomaton({ start: "s", rules: new Map([["s", schemaText(wide)]]) }, () => undefined);
    let state: typeof first | null = first;
    for (const byte of new TextEncoder().encode('{"p3":"x", "p59":"y"}')) state &&= state.next(byte);
    assert.equal(state?.accepting, true);
  });
});

describe("formats, patterns and references to itself", () => {
  const problem = (schema: unknown, value: unknown) =>
    (readJsonAnswer(plainSchema(schema), JSON.stringify(value)) as { problem?: string }).problem;

  it("are those that zod writes", () => {
    const shapes: [z.ZodType, right: unknown, wrong: unknown][] = [
      [z.object({ a: z.email() }), { a: "ada@example.org" }, { a: "ada" }],
      [z.object({ a: z.uuid() }), { a: "123e4567-e89b-42d3-a456-426614174000" }, { a: "123" }],
      [z.object({ a: z.iso.datetime() }), { a: "2026-11-18T06:00:00Z" }, { a: "yesterday" }],
      [z.object({ a: z.iso.date() }), { a: "2026-02-28" }, { a: "2026-02-31x" }],
      [z.object({ a: z.url() }), { a: "https://example.org/x" }, { a: "example" }],
      [z.object({ a: z.ipv4() }), { a: "10.0.0.1" }, { a: "10.0.0.256" }],
      [z.object({ a: z.string().regex(/^[A-Z]{3}$/) }), { a: "ABC" }, { a: "abc" }],
    ];
    for (const [shape, right, wrong] of shapes) {
      const schema = z.toJSONSchema(shape);
      assert.equal(problem(schema, right), undefined, JSON.stringify(schema));
      assert.match(problem(schema, wrong) ?? "taken", /^a must/, JSON.stringify(wrong));
    }
  });

  it("are followed to any depth, from a part or from the whole", () => {
    const node = { type: "object", properties: { name: { type: "string" }, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } }, required: ["name", "next"] }; // biome-ignore format: one schema
    const list = { $ref: "#/$defs/node", $defs: { node } };
    const deep = (count: number, end: unknown): unknown =>
      count === 0 ? end : { name: "x", next: deep(count - 1, end) };
    assert.equal(problem(list, deep(30, null)), undefined);
    assert.notEqual(problem(list, deep(30, 7)), undefined);
    const tree = { type: "object", properties: { sons: { type: "array", items: { $ref: "#" } } }, required: ["sons"] };
    assert.equal(problem(tree, { sons: [{ sons: [] }, { sons: [{ sons: [] }] }] }), undefined);
    assert.match(problem(tree, { sons: [{ sons: [{}] }] }) ?? "", /sons is missing/);
  });

  it("take no longer than their time", () => {
    const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } }, required: ["a"] };
    const text = `${"a".repeat(60)}!`;
    assert.match(problem(slow, { a: text }) ?? "", /could not be checked in time/);
    const list = { type: "object", properties: { a: { type: "array", items: slow.properties.a } }, required: ["a"] };
    assert.match(problem(list, { a: Array(1000).fill(text) }) ?? "", /could not be checked in time/);
    // Both choices are tried at each level.
    const next = { type: "object", properties: { a: { $ref: "#/$defs/one" } }, required: ["a"] };
    const choices = { $ref: "#/$defs/one", $defs: { one: { anyOf: [next, next, { type: "null" }] } } };
    const deep = (count: number): unknown => (count === 0 ? 7 : { a: deep(count - 1) });
    assert.match(problem(choices, deep(60)) ?? "", /could not be checked in time/);
  });

  it("that lead back to themselves without a step into the value are refused", () => {
    const round = { a: { $ref: "#/$defs/b" }, b: { anyOf: [{ type: "string" }, { $ref: "#/$defs/a" }] } };
    for (const schema of [{ $ref: "#" }, { anyOf: [{ $ref: "#" }] }, { $ref: "#/$defs/a", $defs: round }, { type: "object", properties: { x: { $ref: "#/$defs/b" } }, $defs: round }])
      assert.throws(() => plainSchema(schema), /leads back to itself/); // biome-ignore format: one list
  });
});
