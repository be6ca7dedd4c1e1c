import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { openAt } from "../../../test/studio/address-bar.ts";

describe("the app's addresses", () => {
  let router: typeof import("./router.ts");
  let cursors: typeof import("./parts/selection.ts");
  let selections: typeof import("./parts/selection.ts");
  before(async () => {
    openAt("#/chains?reward=0&row=3");
    router = await import("./router.ts");
    cursors = await import("./parts/selection.ts");
    selections = await import("./parts/selection.ts");
  });

  it("fit a route by its parts, and give any text back that stands in one", () => {
    for (const text of ["a/b", "50 % ?", "ü\u202e", "..", "'\"<"]) {
      const path = `/runs/${router.pathPart(text)}`;
      assert.deepEqual(router.matchPath("/runs/:run", path), { run: text });
    }
    assert.equal(router.pathPart("\ud800"), "%EF%BF%BD");
    assert.deepEqual(router.matchPath("/runs/:run", "/runs/%E0%A4%A"), { run: "%E0%A4%A" }, "half an escape");
    assert.equal(router.matchPath("/runs/:run", "/runs"), undefined);
    assert.equal(router.matchPath("/runs", "/chains"), undefined);
    assert.deepEqual(router.matchPath("/", "/"), {});
  });

  it("leave out what is empty, and repeat what has several values", () => {
    assert.equal(router.href("/chains", { q: "", sort: undefined }), "#/chains");
    assert.equal(
      router.href("/chains", { ending: ["limit", "error"], row: 0 }),
      "#/chains?ending=limit&ending=error&row=0",
    );
  });

  it("change in parts: the rest of the query stays, and nothing changes once another page was gone to", () => {
    router.go("/chains", { reward: "0", row: 3 });
    router.setQuery({ row: 4, q: "river" });
    assert.equal(location.hash, "#/chains?reward=0&row=4&q=river");
    assert.equal(router.place.value.query.get("row"), "4");
    router.setQuery({ reward: undefined, row: "" });
    assert.equal(location.hash, "#/chains?q=river");
    // The browser has gone on, and its event is yet to come.
    location.hash = "#/runs";
    router.setQuery({ row: 9 });
    assert.equal(location.hash, "#/runs");
    router.go("/chains");
    assert.equal(router.path.value, "/chains");
  });

  it("hold a cursor that stays in its list, and moves on with every key", () => {
    router.go("/chains");
    const { at, move, to } = cursors.cursor("row", 3, { edit: undefined });
    assert.equal(at, -1);
    const places = [1, 1, 1, 1, -1, -5].map((by) => {
      move(by);
      return router.place.value.query.get("row");
    });
    assert.deepEqual(places, ["0", "1", "2", "2", "1", "0"]);
    to(99);
    assert.equal(cursors.cursor("row", 3).at, 2);
    router.setQuery({ edit: 1 });
    move(-1);
    assert.equal(location.hash, "#/chains?row=1");
    router.go("/chains");
    cursors.cursor("row", 0).move(1);
    assert.equal(location.hash, "#/chains");
  });

  it("select a step or a segment, and know the step that a segment came from", () => {
    const chain = { segments: [{ from: { agent: "a", step: "step-2" } }, {}] } as never;
    router.go("/chains/c");
    assert.deepEqual(selections.selection(), {});
    selections.select({ step: "seg-1" });
    assert.deepEqual(selections.selection(), { step: "seg-1" }, "a step with the name of a segment");
    selections.select({ segment: 0 });
    assert.equal(location.hash, "#/chains/c?at=seg-0");
    assert.deepEqual(selections.selection(), { segment: 0 });
    assert.equal(selections.selectedStep(chain), "step-2");
    selections.select({ segment: 1 });
    assert.equal(selections.selectedStep(chain), undefined);
    selections.select({});
    assert.equal(location.hash, "#/chains/c");
  });
});
