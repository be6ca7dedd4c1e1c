import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hueOf } from "./hues.ts";

describe("the hue of a word", () => {
  it("is the same for a role, its agent and its tag, and always one that the style knows", () => {
    assert.equal(hueOf("search"), hueOf("search_agent"));
    assert.equal(hueOf("manager"), hueOf("plan"));
    const known = new Set(["violet", "blue", "teal", "amber", "rose", "green", "none"]);
    for (const word of ["", "constructor", "my-tool", "検索", "x".repeat(5_000)]) {
      assert.ok(known.has(hueOf(word)), `${word.slice(0, 20)}: ${hueOf(word)}`);
      assert.equal(hueOf(word), hueOf(word));
    }
  });
});
