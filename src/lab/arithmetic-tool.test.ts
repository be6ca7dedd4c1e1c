import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../base/work/random.ts";
import { arithmeticTool, evaluatePrint } from "./arithmetic-tool.ts";

describe("evaluatePrint", () => {
  it("agrees with exact arithmetic on random expressions", () => {
    const random = seededRandom("expressions");
    const expression = (depth: number): string => {
      if (depth === 0 || random.next() < 0.2) return String(random.below(1000));
      const inner = `${expression(depth - 1)} ${random.pick(["+", "-", "*"])} ${expression(depth - 1)}`;
      return random.next() < 0.5 ? `(${inner})` : inner;
    };
    for (let round = 0; round < 500; round++) {
      const text = expression(4);
      const exact = new Function(`return ${text.replace(/\d+/g, "$&n")}`)() as bigint;
      assert.equal(evaluatePrint(`print(${text})`), exact, text);
    }
  });

  it("divides as Python does", () => {
    for (const [a, b] of [
      [7, 2],
      [-7, 2],
      [7, -2],
      [-7, -2],
      [6, 3],
      [-6, 3],
    ] as const) {
      assert.equal(evaluatePrint(`print(${a} // ${b})`), BigInt(Math.floor(a / b)));
      assert.equal(evaluatePrint(`print(${a} % ${b})`), BigInt(a - b * Math.floor(a / b)));
    }
  });

  it("refuses what is not a sum", () => {
    for (const code of [
      "print(1 2)",
      "print(",
      "1 + 1",
      "print(x)",
      "print(012)",
      "print(1 // 0)",
      "import os",
      "print()",
    ]) {
      assert.throws(
        () => arithmeticTool().execute({ code }, { signal: new AbortController().signal }),
        /^ToolError: code: /,
      );
    }
  });
});
