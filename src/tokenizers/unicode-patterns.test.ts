import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unicodePreTokenizer } from "./load-tokenizer.ts";
import { type ComponentJson, flattenComponent } from "./tokenizer-json.ts";

/** What each splitting step of a pre-tokenizer finds in a text. */
function found(component: ComponentJson, text: string): string[][] {
  return flattenComponent(unicodePreTokenizer(component))
    .filter((step) => step.type === "Split")
    .map((step) =>
      [...text.matchAll(new RegExp((step["pattern"] as { Regex: string }).Regex, "gu"))].map(([all]) => all),
    );
}

describe("unicodePreTokenizer", () => {
  it("splits off every number character, not ASCII's digits alone", () => {
    const digits = { type: "Digits", individual_digits: true };
    assert.deepEqual(found(digits, "5 ½ x ٣ Ⅷ12"), [["5", "½", "٣", "Ⅷ", "1", "2"]]);
    assert.deepEqual(found({ type: "Digits" }, "x 12½"), [["12½"]]);
  });

  it("takes white space as Unicode has it: with U+0085, without U+FEFF", () => {
    const split = { type: "Split", pattern: { Regex: "\\S+|\\s" }, behavior: "Isolated" };
    assert.deepEqual(found(split, "a\u0085\ufeffb \\s"), [["a", "\u0085", "\ufeffb", " ", "\\s"]]);
    const escaped = { type: "Split", pattern: { Regex: "\\\\s|\\d" } };
    assert.deepEqual(found(escaped, "\\s ٣"), [["\\s", "٣"]]);
  });

  it("writes out what a byte-level step splits by, and leaves one that adds a space as it is", () => {
    assert.deepEqual(found({ type: "ByteLevel", use_regex: true }, "it's 12 ok"), [["it", "'s", " 12", " ok"]]);
    const adding = { type: "ByteLevel", add_prefix_space: true };
    assert.deepEqual(flattenComponent(unicodePreTokenizer(adding)), [adding]);
    assert.equal(unicodePreTokenizer(null), null);
  });
});
