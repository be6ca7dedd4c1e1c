import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileLines, lineCutter } from "./lines.ts";

const text = "first\nsécond \u2028 still\r\n\nlast";

/** The text in blocks of so many bytes, all in the same memory. */
async function* blocks(size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  const block = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) yield block.subarray(0, bytes.copy(block, 0, at, at + size));
}

describe("fileLines", () => {
  it("cuts at newlines only, wherever a block ends, and counts every line", async () => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const lines = await Array.fromAsync(fileLines("here", { stream: blocks(size) }));
      assert.deepEqual(
        lines.map((line) => [line.line, line.text, line.complete]),
        [
          [1, "first", true],
          [2, "sécond \u2028 still\r", true],
          [3, "", true],
          [4, "last", false],
        ],
        `blocks of ${size}`,
      );
    }
  });
});

describe("lineCutter", () => {
  it("holds what has come since the last newline", () => {
    const cutter = lineCutter();
    assert.deepEqual(Array.from(cutter.cut(Buffer.from("a\nbc")), String), ["a"]);
    assert.deepEqual([cutter.held, cutter.rest().toString()], [2, "bc"]);
    assert.deepEqual(Array.from(cutter.cut(Buffer.from("\n")), String), ["bc"]);
    assert.equal(cutter.held, 0);
  });
});
