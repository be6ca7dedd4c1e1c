import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSeal } from "./sealed-state.ts";

const refused = { code: "invalid_encrypted_content", status: 400 };

describe("sealed state", () => {
  it("opens for its owner alone, unread and unchanged", () => {
    const seal = openSeal();
    const text = seal.close({ secret: "lamp" }, "ada")!;
    assert.deepEqual(seal.open(text, "ada"), { secret: "lamp" });
    assert.doesNotMatch(Buffer.from(text.slice(5), "base64url").toString("latin1"), /lamp/);
    assert.throws(() => seal.open(text, "bob"), refused);
    assert.throws(() => openSeal().open(text, "ada"), refused);
    for (let at = 5; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
      // The last character may hold bits that mean nothing.
      if (at < text.length - 1) assert.throws(() => seal.open(changed, "ada"), refused);
      assert.throws(() => seal.open(text.slice(0, at), "ada"), refused);
    }
    for (const junk of ["", "coa1.", "coa2.x", "x".repeat(1000)]) assert.throws(() => seal.open(junk, "ada"), refused);
  });

  it("expires, and never unpacks to more than the limit", () => {
    const key = new Uint8Array(32);
    let time = 0;
    const seal = openSeal({ key, lifeMs: 1000, now: () => time });
    const text = seal.close("x", "ada")!;
    time = 1000;
    assert.equal(seal.open(text, "ada"), "x");
    time = 1001;
    assert.throws(() => seal.open(text, "ada"), refused);
    const bomb = openSeal({ key, maxBytes: 2 ** 24 }).close("0".repeat(2 ** 23), "ada")!;
    assert.ok(bomb.length < 20_000);
    assert.throws(() => openSeal({ key, maxBytes: 2 ** 20 }).open(bomb, "ada"), refused);
    assert.equal(openSeal({ key, maxBytes: 100 }).close("0".repeat(101), "ada"), undefined);
  });
});
