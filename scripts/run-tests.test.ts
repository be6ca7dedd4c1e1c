import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tierOf, unexpectedSkips } from "./run-tests.ts";

describe("the tiers of tests", () => {
  it("are told by the file's name", () => {
    assert.equal(tierOf("src/chain/run-chain.test.ts"), "short");
    assert.equal(tierOf("test/frameworks/live-apps.long.test.ts"), "long");
    assert.equal(tierOf("test/toy-model.learning.test.ts"), "learning");
  });

  it("let CI accept only the skips that are named", () => {
    assert.deepEqual(unexpectedSkips(["set COA_TEST_PYTHON to a Python with transformers"]), []);
    assert.deepEqual(unexpectedSkips(["bubblewrap is not installed"]), ["bubblewrap is not installed"]);
  });
});
