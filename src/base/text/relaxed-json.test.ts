import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonIn, parseRelaxedJson, pythonLiteral } from "./relaxed-json.ts";

describe("pythonLiteral", () => {
  it("reads what Python prints, up to where it ends", () => {
    const printed = `(['a', "b'c", 'd\\n', '\\x41'], -1.5, {'k': True, 2: 'two'}, None, (1,), [])`;
    const value = [["a", "b'c", "d\n", "A"], -1.5, { k: true, 2: "two" }, null, [1], []];
    assert.deepEqual(pythonLiteral(printed), value);
    assert.deepEqual(pythonLiteral(`assert f${printed} == 3`, 8), value);
    assert.throws(() => pythonLiteral("lambda: 1"), SyntaxError);
  });
});

describe("parseRelaxedJson", () => {
  it("takes no tuple for an array, and nothing after the value", () => {
    assert.throws(() => parseRelaxedJson("(1, 2)"), SyntaxError);
    assert.throws(() => parseRelaxedJson("{} and more"), SyntaxError);
  });
});

describe("jsonIn", () => {
  it("finds the object inside prose, and says where there is none", () => {
    assert.deepEqual(jsonIn("So: {'a': [1, 2,],} I think."), { a: [1, 2] });
    assert.throws(() => jsonIn("nothing"), /there is no \{ in: nothing/);
  });
});
