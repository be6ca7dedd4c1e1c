import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultSandboxLimits, outputWindow, trimMiddle, withLimits } from "./limits.ts";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("withLimits", () => {
  it("prefers the request, then the base, then the paper's limits", () => {
    assert.deepEqual(withLimits({ cpuMs: 1, wallMs: undefined }, { cpuMs: 2, wallMs: 3 }), {
      ...defaultSandboxLimits,
      cpuMs: 1,
      wallMs: 3,
    });
    assert.deepEqual(defaultSandboxLimits, { cpuMs: 5000, wallMs: 7000, memoryMb: 512, outputCharacters: 1536 });
  });
});

describe("trimMiddle", () => {
  it("keeps both halves and counts what it cuts", () => {
    const text = `${"a".repeat(1000)}${"b".repeat(1000)}`;
    const cut = trimMiddle(text, 100);
    assert.equal(cut, `${"a".repeat(50)}\n... [1900 characters cut] ...\n${"b".repeat(50)}`);
    assert.equal(trimMiddle("short", 5), "short");
  });

  it("never leaves half of a character", () => {
    for (let limit = 2; limit < 12; limit++) {
      const cut = trimMiddle("😀".repeat(40), limit);
      assert.equal(Buffer.from(cut).toString(), cut, `limit ${limit}`);
    }
  });
});

describe("outputWindow", () => {
  it("shows what trimMiddle shows of the whole text, however the bytes arrive", () => {
    const next = random(7);
    for (let round = 0; round < 200; round++) {
      const letters = ["a", "é", "😀", "\n", "z"];
      const text = Array.from({ length: Math.floor(next() * 400) }, () => letters[Math.floor(next() * 5)]).join("");
      const limit = 2 * Math.floor(next() * 100);
      const window = outputWindow(limit);
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + Math.floor(next() * 20);
        window.write(bytes.subarray(at, at + size));
        at += size;
      }
      assert.equal(window.text(), trimMiddle(text, limit));
      assert.equal(window.length, text.length);
    }
  });

  it("holds on to a bounded part of an endless stream", () => {
    const window = outputWindow(10);
    const chunk = Buffer.alloc(1_000_000, "x");
    for (let round = 0; round < 50; round++) window.write(chunk);
    window.write(Buffer.from("the end"));
    assert.match(window.text(), /^xxxxx\n\.\.\. \[\d+ characters cut\] \.\.\.\ne end$/);
  });
});
