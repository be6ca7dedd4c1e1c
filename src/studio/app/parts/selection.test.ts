import assert from "node:assert/strict";
import { before, beforeEach, describe, it } from "node:test";
import { openAt } from "../../../../test/studio/address-bar.ts";

describe("what is selected", () => {
  let parts: typeof import("./selection.ts");
  let router: typeof import("../router.ts");
  before(async () => {
    openAt("#/runs/r1?in=a.jsonl");
    router = await import("../router.ts");
    parts = await import("./selection.ts");
  });
  beforeEach(() => router.setQuery({ at: undefined, row: undefined, edit: undefined }));

  it("stands in the address: a step, a segment, or nothing", () => {
    assert.deepEqual(parts.selection(), {});
    parts.select({ segment: 3 });
    assert.match(location.hash, /at=seg-3/);
    assert.deepEqual(parts.selection(), { segment: 3 });
    parts.select({ step: "seg-like" });
    assert.deepEqual(parts.selection(), { step: "seg-like" });
    parts.select({});
    assert.equal(location.hash, "#/runs/r1?in=a.jsonl", "the rest of the address stays");
  });

  it("is the step that a segment came from", () => {
    const chain = { segments: [{ from: { step: "s1", agent: "a" } }, {}] } as never;
    parts.select({ segment: 0 });
    assert.equal(parts.selectedStep(chain), "s1");
    parts.select({ segment: 1 });
    assert.equal(parts.selectedStep(chain), undefined);
    parts.select({ segment: 9 });
    assert.equal(parts.selectedStep(chain), undefined);
  });

  it("moves within a list, two steps for two quick keys, and never beyond an end", () => {
    const list = parts.cursor("row", 3, { edit: undefined });
    assert.equal(list.at, -1);
    list.move(1);
    list.move(1);
    assert.equal(parts.cursor("row", 3).at, 1);
    list.move(50);
    assert.equal(parts.cursor("row", 3).at, 2);
    list.move(-50);
    assert.equal(parts.cursor("row", 3).at, 0);
    parts.cursor("none", 0).move(1);
    assert.doesNotMatch(location.hash, /none=/);
  });
});
